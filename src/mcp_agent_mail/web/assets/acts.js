// What keys act on, and what each would do there, if anything: press a button, or follow a link, that the page has.
const MESSAGE = /^\/mail\/[^/]+\/message\/\d+$/;

export const at = () => document.querySelector("[data-row].at");
export const linkOf = (row) => row?.querySelector("a.open") ?? row?.querySelector("a[href]");
export const press = (element) => element && (() => element.click());
export function reach(one, block = "nearest") {
  (one.querySelector("a.open") ?? one.querySelector("a[href], button, summary"))?.focus({ preventScroll: true });
  one.scrollIntoView({ block });
}
export const shown = () => document.dispatchEvent(new Event("shown"));
const boxOf = (row) => row?.querySelector(".choose input");
const chosen = () => document.querySelectorAll(".choose input:checked").length;
const composeLink = () => document.querySelector("a[data-compose]");

// The message that is read, unless a row was chosen beside it since.
function reading() {
  const article = document.querySelector("[data-article]");
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
  const form = document.querySelector(article ? "[data-article] form[data-marks]" : "form#marks");
  const button = form?.querySelector(`button[name=act][value=${act}]`);
  if (article || chosen()) return press(button);
  const box = at()?.matches(state) && boxOf(at());
  return button && box && (() => { box.click(); button.click(); });
}

function reply() {
  const article = reading();
  if (article) return press(article.querySelector("a[data-reply]"));
  const path = composeLink() && linkOf(at())?.pathname;
  return MESSAGE.test(path) && (() => location.assign(`${path}/reply`));
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
  const told = document.querySelector("#marks [data-chosen]");
  if (!told) return;
  told.textContent = count ? `${count} chosen` : "";
  for (const button of document.querySelectorAll("#marks button")) button.disabled = !count;
}

export function bindMarks() {
  document.addEventListener("submit", (event) => {
    const back = event.target.matches?.("form[data-marks]") && event.target.elements.back;
    if (back) back.value = location.pathname + location.search;
  });
  document.addEventListener("change", (event) => event.target.closest(".choose") && shown());
  document.addEventListener("shown", showChosen);
  addEventListener("pageshow", shown);
}
