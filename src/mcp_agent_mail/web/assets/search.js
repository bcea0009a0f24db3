// Search as you type, under the form's own addresses.
import { shown } from "./acts.js";
import { fetchPage, first } from "./swap.js";

const PAUSE_MS = 200;
let timer = 0;


async function find(field) {
  const words = field.value;
  const address = new URL(field.form.action);
  address.search = new URLSearchParams(new FormData(field.form));
  try {
    const found = (await fetchPage(address)).querySelector("[data-results]");
    if (!found) throw found;
    if (words !== field.value) return;
    first("[data-results]").replaceWith(found);
    history.replaceState(history.state, "", address);
    first(".fresh")?.setAttribute("hidden", "");
    shown();
  } catch {
    field.form.requestSubmit();
  }
}

addEventListener("input", ({ target }) => {
  if (!target.matches("[data-search] #filter")) return;
  clearTimeout(timer);
  timer = setTimeout(find, PAUSE_MS, target);
});
