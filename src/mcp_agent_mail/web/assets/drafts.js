// What is not sent yet stays in this tab, until somebody signs out, or in as somebody else.
import { all, first } from "./swap.js";

const fieldsOf = (form) => form.querySelectorAll("[data-draft]");
const heldIn = (field) => (field.type === "checkbox" ? "checked" : "value");

// The key of a letter that was refused is the page's.
function restore(form, draft) {
  if ("kept" in form.dataset) delete draft.idempotency_key;
  for (const field of fieldsOf(form)) {
    const held = heldIn(field);
    const value = draft[field.name] ?? field[held];
    if (field.type !== "hidden" && value !== field[held]) first("[data-restored]").hidden = false;
    field[held] = value;
  }
}

function completeNames(field) {
  const offered = [...field.list.options].map((option) => [option, option.value]);
  field.addEventListener("input", () => {
    const [lead] = /^(.*,\s*)?/.exec(field.value);
    for (const [option, name] of offered) option.value = lead + name;
  });
}

const { bearer } = document.body.dataset;
addEventListener("submit", ({ target }) => {
  if (target.matches("[action='/mail/sign-out']")) sessionStorage.clear();
});
const sent = first("[data-sent]")?.dataset.sent;
// Drafts of others go, and of the letter that was sent.
for (const [key, text] of bearer ? Object.entries(sessionStorage) : []) {
  if (!key.startsWith(bearer) || JSON.parse(text).idempotency_key === sent) sessionStorage.removeItem(key);
}
for (const form of all("[data-letter]")) {
  const address = form.elements.draft.value;
  const key = bearer + address;
  const keep = () => {
    const draft = Object.fromEntries([...fieldsOf(form)].map((field) => [field.name, field[heldIn(field)]]));
    sessionStorage.setItem(key, JSON.stringify(draft));
  };
  restore(form, JSON.parse(sessionStorage.getItem(key)) ?? {});
  // What a browser brings back may have been sent.
  form.autocomplete = "off";
  addEventListener("pageshow", (event) => event.persisted && location.replace(address));
  first("[data-restored] a").addEventListener("click", () => sessionStorage.removeItem(key));
  for (const kind of ["input", "submit"]) form.addEventListener(kind, keep);
  completeNames(form.elements.to);
}
