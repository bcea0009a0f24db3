// What keys act on, and what each would do there: press a button, or follow a link, of the page.
import { all, fetchPage, first } from "./swap.js";

export const at = () => first("[data-row].at");
export const linkOf = (row) => row?.querySelector("a.open") ?? row?.querySelector("a[href]");
export const press = (element) => element && (() => element.click());
export function reach(one, block = "nearest") {
  (linkOf(one) ?? one.querySelector("button, summary"))?.focus({ preventScroll: true });
  one.scrollIntoView({ block });
}
export const shown = () => dispatchEvent(new Event("shown"));
const boxOf = (row) => row?.querySelector(".choose input");
const chosen = () => all(".choose input:checked").length;
const composeLink = () => first("a[data-compose]");

// The message that is read, unless a row was chosen beside it since.
function reading() {
  const article = first("[data-article], .thread .message:focus-within");
  return !at() || article?.matches(":focus-within") ? article : null;
}

export function choose(row) {
  at()?.classList.remove("at");
  row.classList.add("at");
}

export function projectHere() {
  const link = reading()?.querySelector(".trail a") ?? linkOf(at());
  return link?.pathname.split("/")[2] ?? document.body.dataset.project;
}

function mark(act, state) {
  const article = reading();
  const form = article ? article.querySelector("[data-marks]") : first("#marks");
  const button = form?.querySelector(`[value=${act}]`);
  if (article || chosen()) return press(button);
  const box = at()?.matches(state) && boxOf(at());
  return button && box && (() => { box.click(); button.click(); });
}

function reply() {
  const article = reading();
  if (article) return press(article.querySelector("a[data-reply]"));
  const link = composeLink() && at()?.querySelector("a[data-message]");
  return link && (() => location.assign(`${link.pathname}/reply`));
}

function compose() {
  const link = composeLink();
  const project = projectHere();
  return link && (() => location.assign(project ? `/mail/${project}/overseer/compose` : link.href));
}

export const ACTS = {
  x: () => press(boxOf(at())),
  e: () => mark("read", ".unread"),
  a: () => mark("acknowledge", ":has(.owes)"),
  r: reply,
  c: compose,
  y: () => press(at()?.querySelector("button[value=approve]")),
  n: () => press(at()?.querySelector("button[value=deny]")),
};

function showChosen() {
  const count = chosen();
  for (const told of all("[data-chosen]")) told.textContent = count ? `${count} chosen` : "";
  for (const button of all("#marks button")) button.disabled = !count;
}

// The page that answers an act comes in this one's place; where one stands stays.
async function act(event) {
  const { target, submitter } = event;
  if (!target.matches("[data-row] form, [data-marks]")) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(target, submitter));
  if (body.has("back")) body.set("back", location.pathname + location.search);
  submitter.disabled = true;
  const index = all("[data-row]").indexOf(at());
  const isReading = first("[data-article]:focus-within");
  try {
    const page = await fetchPage(target.action, { method: "POST", body });
    first("main").replaceWith(page.querySelector("main"));
    shown();
    const rows = all("[data-row]");
    const row = rows[index] ?? rows.at(-1);
    const place = isReading ? first("[data-article]") : !row && first("main");
    if (place) return place.focus({ preventScroll: true });
    reach(row);
  } catch {
    submitter.disabled = false;
    first(".keys-said").textContent = "No answer came. Look before you repeat it.";
  }
}

addEventListener("submit", act);
addEventListener("change", (event) => event.target.closest(".choose") && shown());
addEventListener("shown", showChosen);
addEventListener("pageshow", shown);
