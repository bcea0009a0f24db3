// Keys, off in fields. The bar at the bottom says which of them do something here.
import { openRow } from "./reader.js";

const GO = { i: "/mail", n: "/mail/now", p: "/mail/projects", o: "/mail/operations" };
const rows = () => [...document.querySelectorAll("[data-row]")];
const current = () => document.querySelector("[data-row].at");
let waitsForPlace = false;

function moveTo(row) {
  if (!row) return;
  current()?.classList.remove("at");
  row.classList.add("at");
  row.querySelector("a.open")?.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const all = rows();
  const at = all.indexOf(current());
  moveTo(all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))]);
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  o: () => current() && openRow(current()),
  u: () => history.back(),
  "/": () => document.querySelector("#filter")?.focus(),
  g: () => { waitsForPlace = true; setTimeout(() => { waitsForPlace = false; }, 1500); },
};

export function bindKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.target.closest?.("input:not([type=checkbox]), textarea, select")) return;
    if (waitsForPlace && GO[event.key]) {
      waitsForPlace = false;
      event.preventDefault();
      location.assign(GO[event.key]);
      return;
    }
    const act = KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  const bar = document.querySelector(".keys");
  if (!bar || !rows().length) return;
  for (const [keys, word] of [["j k", "move"], ["o", "open"], ["u", "back"], ["/", "filter"], ["g i", "mail"]]) {
    const item = document.createElement("span");
    const key = document.createElement("kbd");
    key.textContent = keys;
    item.append(key, ` ${word}`);
    bar.append(item);
  }
  bar.hidden = false;
}
