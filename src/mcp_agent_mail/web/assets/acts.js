// What keys act on, and what each would press or follow there.
import { all, fetchPage, first } from "./swap.js";

export const at = () => first("[data-row].at");
export const linkOf = (row) => row?.querySelector("a.open") ?? row?.querySelector("a[href]");
export const hrefOf = (row) => linkOf(row)?.getAttribute("href");
export const press = (element) => element && (() => element.click());
export function reach(one, block = "nearest") {
  (linkOf(one) ?? one.querySelector("button, summary"))?.focus({ preventScroll: true });
  one.scrollIntoView({ block });
}
export const shown = () => dispatchEvent(new Event("shown"));
let marks = Promise.resolve();
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

// The page that answers comes in this one's place, unless one went on.
addEventListener("submit", async (event) => {
  const { target, submitter } = event;
  if (!target.matches("[data-marks]")) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(target, submitter));
  const { href, pathname, search } = location;
  body.set("back", pathname + search);
  for (const box of all(".choose :checked")) box.click();
  const place = document.activeElement;
  const isReading = first("[data-article]:focus-within");
  const rows = all("[data-row]").map(hrefOf);
  const rest = rows.slice(rows.indexOf(hrefOf(at())));
  marks = marks.then(() => fetchPage(target.action, { method: "POST", body })).catch(() => {});
  const main = (await marks)?.querySelector("main");
  if (!main) first(".keys-said").textContent = "No answer came. Look before you repeat it.";
  if (!main || location.href !== href || document.activeElement !== place) return;
  first("main").replaceWith(main);
  shown();
  const next = isReading ? first("[data-article]") : all("[data-row]").find((row) => rest.includes(hrefOf(row)));
  if (next) reach(next);
});
addEventListener("change", (event) => event.target.closest(".choose") && shown());
addEventListener("shown", showChosen);
addEventListener("pageshow", shown);
