// Keys, off in fields, with modifiers, while a dialog is open, and where a person switched them off. The foot shows
// those that do something here; `?` shows all.
import { ACTS, follow, row } from "./acts.js";
import { areOff, bindFoot, openHelp, showFoot } from "./foot.js";
import { openRow } from "./reader.js";

const GO = { i: "/mail", n: "/mail/now", p: "/mail/projects", o: "/mail/operations", r: "file_reservations", a: "agents" };
const GO_WITHIN_MS = 1500;
const FIELDS = "input:not([type=checkbox]), textarea, select, [contenteditable]";
const MANY = "jk[]";
let wentAt = -GO_WITHIN_MS;

function step(by) {
  const all = [...document.querySelectorAll("[data-row]")];
  const at = all.findIndex((one) => one.classList.contains("at"));
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  if (!next) return false;
  all[at]?.classList.remove("at");
  next.classList.add("at");
  next.querySelector("a.open")?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function stepThread(by) {
  const all = [...document.querySelectorAll(".thread .message")];
  const next = all[all.findIndex((one) => one.contains(document.activeElement)) + by];
  if (!next) return follow(document.querySelector(`:is([data-article], .thread) a[rel=${by < 0 ? "prev" : "next"}]`));
  next.querySelector("h2 a").focus({ preventScroll: true });
  next.scrollIntoView({ block: "start" });
}

function go(place) {
  const own = [row()?.querySelector("a.open"), document.querySelector("[data-article] .trail a")];
  const project = own.map((link) => link?.pathname.split("/")[2]).find(Boolean) ?? document.body.dataset.project;
  location.assign(place.startsWith("/") ? place : project ? `/mail/${project}/${place}` : GO.p);
}

const KEYS = {
  ...ACTS,
  j: () => step(1),
  k: () => step(-1),
  o: () => (row() ? void openRow(row()) : false),
  u: () => history.back(),
  "[": () => stepThread(-1),
  "]": () => stepThread(1),
  "/": () => {
    const field = document.querySelector("#filter, [data-search] input[name=q]");
    if (field) field.focus();
    else location.assign("/mail/search");
  },
  "?": openHelp,
};

export function bindKeys() {
  bindFoot();
  document.addEventListener("article", showFoot);
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    // A layout may have brackets behind AltGr alone.
    const isAltered = event.metaKey || ((event.ctrlKey || event.altKey) && !event.getModifierState("AltGraph"));
    if (isAltered || event.isComposing || areOff() || target.closest?.(FIELDS) || document.querySelector("dialog[open]")) return;
    if (event.repeat && !MANY.includes(key)) return;
    const goes = event.timeStamp - wentAt < GO_WITHIN_MS;
    wentAt = key === "g" && !goes ? event.timeStamp : -GO_WITHIN_MS;
    if (goes && Object.hasOwn(GO, key)) go(GO[key]);
    else if (goes || !Object.hasOwn(KEYS, key) || KEYS[key]() === false) return;
    event.preventDefault();
  });
}
