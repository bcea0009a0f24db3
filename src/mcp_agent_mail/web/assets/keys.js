// Keys: off in fields, with modifiers, in dialogs, and where a person switched them off.
import { ACTS, at, choose, linkOf, press, projectHere, reach } from "./acts.js";
import { areOff, bindFoot, openHelp, say, showFoot } from "./foot.js";
import { depth, isOpen, shut } from "./reader.js";
import { all, first } from "./swap.js";

const GO = { i: "/mail", n: "/mail/now", p: "/mail/projects", o: "/mail/operations", r: "file_reservations", a: "agents" };
const GO_WITHIN_MS = 1500;
const FIELDS = "input:not([type=checkbox]), textarea, select";
let wentAt = -GO_WITHIN_MS;

function step(by) {
  const rows = all("[data-row]");
  const next = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(at()) + by))];
  return next && (() => { choose(next); reach(next); });
}

function stepThread(by) {
  const messages = all(".thread .message");
  const next = messages[messages.findIndex((one) => one.contains(document.activeElement)) + by];
  if (!next) return press(first(`:is([data-article], .thread) a[rel=${by < 0 ? "prev" : "next"}]`));
  return () => reach(next, "start");
}

// To what led here; where a session began here, to what the page belongs to.
function back() {
  if (isOpen()) return shut;
  const from = document.referrer;
  const isOurs = from.startsWith(`${location.origin}/mail`) && !from.includes("/mail/sign-in") && from !== location.href;
  if (isOurs) return () => history.go(-1 - depth());
  const up = first("main .trail a") ?? first(".brand");
  return up.href !== location.href && press(up);
}

function go(place) {
  const project = projectHere();
  location.assign(place.startsWith("/") ? place : project ? `/mail/${project}/${place}` : GO.p);
}

function search() {
  const field = first("#filter");
  if (field) field.focus();
  else location.assign("/mail/search");
}

// What each key would do now, if anything.
const KEYS = {
  ...ACTS,
  j: () => step(1),
  k: () => step(-1),
  o: () => press(linkOf(at())),
  u: back,
  Escape: () => isOpen() && shut,
  "[": () => stepThread(-1),
  "]": () => stepThread(1),
  "/": () => search,
  "?": () => openHelp,
};
const find = (key) => KEYS[key]?.();

bindFoot(find);
addEventListener("focusin", ({ target }) => {
  const row = target.closest("[data-row]");
  if (row) choose(row);
  showFoot();
});
addEventListener("keydown", (event) => {
  const { altKey, ctrlKey, metaKey, target, timeStamp } = event;
  const isSearch = (ctrlKey || metaKey) && event.key === "k";
  const key = isSearch ? "/" : event.key;
  // A layout may have brackets behind AltGr alone.
  const isAltered = metaKey || ((ctrlKey || altKey) && !event.getModifierState("AltGraph"));
  if ((isAltered && !isSearch) || event.isComposing || areOff()) return;
  if (target.type === "search" && key === "Escape") {
    event.preventDefault();
    target.blur();
  }
  if (target.closest?.(FIELDS) || first("dialog[open]")) return;
  if (event.repeat && !"jk[]".includes(key)) return;
  const goes = timeStamp - wentAt < GO_WITHIN_MS;
  wentAt = key === "g" && !goes ? timeStamp : -GO_WITHIN_MS;
  const act = goes ? GO[key] && (() => go(GO[key])) : find(key);
  say(act || goes || key.length > 1 ? "" : key);
  if (!act) return;
  event.preventDefault();
  act();
  showFoot();
});
