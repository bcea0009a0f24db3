// On a wide window a message opens beside the list; its address is the one that it has by itself.
import { fetchPage } from "./swap.js";

const isWide = () => matchMedia("(min-width: 1100px)").matches;
let running;

export function bindReader() {
  const reader = document.querySelector("[data-reader]");
  if (!reader) return;
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-row] a.open, [data-reader] a[rel=prev], [data-reader] a[rel=next]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || !isWide()) return;
    event.preventDefault();
    open(link, link.closest("[data-row]"));
  });
}

export function openRow(row) {
  const link = row.querySelector("a.open");
  if (link && document.querySelector("[data-reader]") && isWide()) open(link, row);
  else if (link) location.assign(link.href);
}

async function open(link, row) {
  const reader = document.querySelector("[data-reader]");
  running?.abort();
  running = new AbortController();
  for (const other of document.querySelectorAll("[data-row][aria-current]")) other.removeAttribute("aria-current");
  row?.setAttribute("aria-current", "true");
  try {
    const page = await fetchPage(link.href, running.signal);
    const article = page.querySelector("[data-article]") ?? page.querySelector("main");
    reader.replaceChildren(document.adoptNode(article));
    reader.scrollIntoView({ block: "nearest" });
    document.dispatchEvent(new Event("article"));
  } catch (error) {
    if (error.name !== "AbortError") location.assign(link.href);
  }
}
