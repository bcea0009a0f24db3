// Search as you type: the same address as the form's, its results put in the place of the old ones.
import { fetchPage, first } from "./swap.js";

const PAUSE_MS = 200;
let timer = 0;

export function bindSearch() {
  const field = first("[data-search] input[name=q]");
  field?.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, PAUSE_MS, field);
  });
}

async function find(field) {
  const words = field.value.trim();
  const address = new URL(field.form.action);
  if (words) address.searchParams.set("q", words);
  try {
    const found = (await fetchPage(address)).querySelector("[data-results]");
    if (!found || words !== field.value.trim()) return;
    first("[data-results]").replaceWith(found);
    history.replaceState(history.state, "", address);
  } catch {
    field.form.requestSubmit();
  }
}
