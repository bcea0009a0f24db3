// Search as you type: the same address as the form's, its results put in the place of the old ones.
import { fetchPage } from "./swap.js";

const PAUSE_MS = 200;
let timer = 0;

export function bindSearch() {
  const form = document.querySelector("[data-search]");
  const field = form?.querySelector("input[name=q]");
  if (!field) return;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => find(form, field), PAUSE_MS);
  });
}

async function find(form, field) {
  const words = field.value.trim();
  const address = new URL(form.action);
  if (words) address.searchParams.set("q", words);
  try {
    const found = (await fetchPage(address)).querySelector("[data-results]");
    if (!found || words !== field.value.trim()) return;
    document.querySelector("[data-results]").replaceWith(document.adoptNode(found));
    history.replaceState(history.state, "", address);
  } catch {
    form.requestSubmit();
  }
}
