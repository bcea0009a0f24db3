// The foot of a page: the keys that do something for what is chosen, and the switch that turns all of them off.
const KEPT = "keys";
let isOff = false;
let does;

export const areOff = () => isOff;
export const openHelp = () => document.querySelector(".key-help").showModal();

// Where a browser keeps nothing, a choice lasts as long as the page.
function keep(choice) {
  try {
    if (choice) localStorage.setItem(KEPT, choice);
    isOff = localStorage.getItem(KEPT) === "off";
  } catch {
    isOff = choice === "off";
  }
  for (const box of document.querySelectorAll(".key-switch input")) box.checked = !isOff;
  showFoot();
}

export function showFoot() {
  for (const one of document.querySelectorAll("[data-keys]")) {
    one.hidden = isOff || !one.dataset.keys.split(" ").some(does);
  }
}

// What `key` does not do here, and why.
export function say(key) {
  const one = document.querySelector(`[data-keys~="${CSS.escape(key)}"]`);
  document.querySelector(".keys-said").textContent = one?.dataset.why ?? "";
}

export function bindFoot(find) {
  does = find;
  document.querySelector(".keys").hidden = false;
  document.querySelector("[data-help]").addEventListener("click", openHelp);
  document.addEventListener("change", ({ target }) => target.closest(".key-switch") && keep(target.checked ? "on" : "off"));
  addEventListener("storage", () => keep());
  document.addEventListener("shown", showFoot);
  keep();
}
