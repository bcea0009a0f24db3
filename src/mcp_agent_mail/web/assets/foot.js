// The keys that do something for what is chosen, and the switch that turns all off.
import { all, first } from "./swap.js";

let isOff = false;
let does;

export const areOff = () => isOff;
export const openHelp = () => first(".key-help").showModal();

// Where a browser keeps nothing, a choice lasts as long as the page.
function keep(choice) {
  try {
    if (choice) localStorage.setItem("keys", choice);
    isOff = localStorage.getItem("keys") === "off";
  } catch {
    isOff = choice === "off";
  }
  for (const box of all(".key-switch input")) box.checked = !isOff;
  showFoot();
}

export function showFoot() {
  for (const one of all("[data-keys]")) {
    one.hidden = isOff || !one.dataset.keys.split(" ").some(does);
  }
}

// What `key` does not do here, and why.
export function say(key) {
  const one = first(`[data-keys~="${CSS.escape(key)}"]`);
  first(".keys-said").textContent = one?.dataset.why ?? "";
}

export function bindFoot(find) {
  does = find;
  first(".keys").hidden = false;
  first("[data-help]").addEventListener("click", openHelp);
  addEventListener("change", ({ target }) => target.closest(".key-switch") && keep(target.checked ? "on" : "off"));
  addEventListener("storage", () => keep());
  addEventListener("shown", showFoot);
  keep();
}
