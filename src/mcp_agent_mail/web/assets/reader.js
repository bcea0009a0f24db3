// On a wide window a message opens beside the list, under the list's own address.
import { at, choose, linkOf, shown } from "./acts.js";
import { fetchPage, first } from "./swap.js";

export const isOpen = () => first("[data-reader] [data-article]");
// Addresses visited within the page.
export const depth = () => history.state?.depth ?? 0;

function visit(path) {
  const address = new URL(location.href);
  address.searchParams.delete("open");
  if (path) address.searchParams.set("open", path.replace(/^\/mail\/(.+)\/message\//, "$1."));
  history.pushState({ depth: depth() + 1 }, "", address);
  show();
}

export const shut = () => visit(null);

// The message that is open by the address, as `project.number`.
function pathHere() {
  const [, project, number] = /^([\w-]+)\.(\d+)$/.exec(new URLSearchParams(location.search).get("open")) ?? [];
  return number && `/mail/${project}/message/${number}`;
}

function markRow() {
  const path = pathHere();
  first("[data-row][aria-current]")?.removeAttribute("aria-current");
  const row = first(`[data-row]:has(a.open[href="${path}"])`);
  row?.setAttribute("aria-current", "true");
  if (row) choose(row);
}

async function show() {
  const path = pathHere();
  markRow();
  try {
    const page = path ? await fetchPage(path) : first("#nothing").content.cloneNode(true);
    const read = page.querySelector("[data-article], .empty");
    if (path !== pathHere()) return;
    first("[data-reader]").replaceChildren(read);
    (path ? read : linkOf(at()))?.focus({ preventScroll: true });
    shown();
  } catch {
    // The page itself says what is wrong.
    if (path === pathHere()) location.reload();
  }
}

addEventListener("click", (event) => {
  const link = event.target.closest(".split [data-row] a.open, [data-reader] :is([rel=prev], [rel=next], [data-shut])");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (!matchMedia("(min-width: 1100px)").matches) return;
  event.preventDefault();
  visit(link.hasAttribute("data-shut") ? null : link.pathname);
});
if (first("[data-reader]")) addEventListener("popstate", show);
addEventListener("shown", markRow);
markRow();
