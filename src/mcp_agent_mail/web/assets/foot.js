// The foot of a page: the keys that do something here, all of them in a dialog, and the switch that turns them off.
const ALL = [
  ["j k", "move", "[data-row]"],
  ["o", "open", "[data-row]"],
  ["u", "back", "[data-row]"],
  ["[ ]", "previous, next of the thread", ".thread .message, [data-article] a[rel]"],
  ["x", "choose", ".choose"],
  ["e", "mark read", "button[name=act][value=read]"],
  ["a", "acknowledge", "button[name=act][value=acknowledge]"],
  ["r", "reply", "a[data-reply], body:has(a[data-compose]) [data-row]"],
  ["c", "compose", "a[data-compose]"],
  ["/", "filter or search", "#filter, [data-search]"],
  ["g i", "go to mail"],
  ["g n", "go to now"],
  ["g p", "go to projects"],
  ["g r", "go to the project’s reservations"],
  ["g a", "go to the project’s agents"],
  ["g o", "go to operations"],
  ["?", "show all keys"],
];
const KEPT = "keys";

function make(tag, words, ...within) {
  const made = document.createElement(tag);
  made.append(words, ...within);
  return made;
}

let isOff = false;
export const areOff = () => isOff;

// Where a browser keeps nothing, a choice lasts as long as the page.
function keep(choice) {
  try {
    if (choice) localStorage.setItem(KEPT, choice);
    isOff = localStorage.getItem(KEPT) === "off";
  } catch {
    isOff = choice === "off";
  }
  showFoot();
}

function keySwitch() {
  const box = document.createElement("input");
  box.type = "checkbox";
  box.setAttribute("role", "switch");
  box.addEventListener("change", () => keep(box.checked ? "on" : "off"));
  const label = make("label", box, " Keys");
  label.className = "key-switch";
  return label;
}

export function openHelp() {
  const list = make("dl", "", ...ALL.map(([keys, word]) => make("div", make("dt", make("kbd", keys)), make("dd", word))));
  const close = make("button", "Close");
  const dialog = make("dialog", make("h2", "Keys"), list, make("p", keySwitch(), close));
  dialog.className = "key-help";
  dialog.setAttribute("aria-label", "Keys");
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  showFoot();
  dialog.showModal();
}

export function showFoot() {
  for (const box of document.querySelectorAll(".key-switch input")) box.checked = !isOff;
  const here = isOff ? [] : ALL.filter(([, , there]) => there && document.querySelector(there));
  document.querySelector(".keys-here")?.replaceChildren(...here.map(([keys, word]) => make("span", make("kbd", keys), ` ${word}`)));
}

export function bindFoot() {
  const bar = document.querySelector(".keys");
  if (!bar) return;
  const here = make("div", "");
  here.className = "keys-here";
  const all = make("button", "All keys");
  all.type = "button";
  all.className = "quiet";
  all.addEventListener("click", openHelp);
  bar.append(here, all, keySwitch());
  bar.hidden = false;
  addEventListener("storage", () => keep());
  keep();
}
