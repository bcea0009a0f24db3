// Keys that act: each presses a button, or follows a link, that the page has anyway. False: there is none.
export const row = () => document.activeElement?.closest?.("[data-row]") ?? document.querySelector("[data-row].at");
const box = (one) => one?.querySelector(".choose input");
const chosen = () => [...document.querySelectorAll(".choose input:checked")];
const article = () => document.querySelector("[data-article]");

function press(act) {
  const one = row();
  const list = document.querySelector("form#marks");
  if (!chosen().length && box(one)) box(one).checked = true;
  const form = chosen().length ? list : one ? null : article()?.querySelector("form[data-marks]");
  const button = form?.querySelector(`button[name=act][value=${act}]`);
  button?.click();
  return Boolean(button);
}

export function follow(link) {
  link?.click();
  return Boolean(link);
}

function reply() {
  const own = article()?.querySelector("a[data-reply]");
  const open = row()?.querySelector("a.open");
  if (!open || own?.pathname === `${open.pathname}/reply`) return follow(own);
  if (!document.querySelector("a[data-compose]")) return false;
  location.assign(`${open.pathname}/reply`);
  return true;
}

export const ACTS = {
  x: () => { const one = box(row()); one?.click(); return Boolean(one); },
  e: () => press("read"),
  a: () => press("acknowledge"),
  r: reply,
  c: () => follow(document.querySelector("a[data-compose]")),
};

export function bindMarks() {
  document.addEventListener("submit", (event) => {
    const back = event.target.matches?.("form[data-marks]") && event.target.elements.back;
    if (back) back.value = location.pathname + location.search;
  });
  document.addEventListener("change", (event) => {
    const told = event.target.closest(".choose") && document.querySelector("#marks [data-chosen]");
    if (!told) return;
    told.rest ??= told.textContent;
    told.textContent = chosen().length ? `${chosen().length} chosen` : told.rest;
  });
}
