// What keys act on, and what each would do there, if anything: press a button, or follow a link, that the page has.
import { all, first } from "./swap.js";

export const at = () => first("[data-row].at");
export const linkOf = (row) => row?.querySelector("a.open") ?? row?.querySelector("a[href]");
export const press = (element) => element && (() => element.click());
export function reach(one, block = "nearest") {
  (linkOf(one) ?? one.querySelector("button, summary"))?.focus({ preventScroll: true });
  one.scrollIntoView({ block });
}
export const shown = () => document.dispatchEvent(new Event("shown"));
const boxOf = (row) => row?.querySelector(".choose input");
const chosen = () => all(".choose input:checked").length;
const composeLink = () => first("a[data-compose]");

// The message that is read, unless a row was chosen beside it since.
function reading() {
  const article = first("[data-article]");
  return !at() || article?.contains(document.activeElement) ? article : null;
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
  const article = !chosen() && reading();
  const form = first(article ? "[data-article] [data-marks]" : "#marks");
  const button = form?.querySelector(`button[name=act][value=${act}]`);
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

export function bindMarks() {
  document.addEventListener("submit", (event) => {
    const back = event.target.matches("[data-marks]") && event.target.elements.back;
    if (back) back.value = location.pathname + location.search;
  });
  document.addEventListener("change", (event) => event.target.closest(".choose") && shown());
  document.addEventListener("shown", showChosen);
  addEventListener("pageshow", shown);
}
