// What is not sent yet stays in this tab until it is, or until its session ends.
const KEPT = "draft:";
const SENDING = "sending";
// Everyone at once is chosen anew each time.
const FIELDS = ["to", "subject", "body_md", "thread_id", "importance", "ack_required", "acknowledge", "idempotency_key"];

const fieldsOf = (form) => FIELDS.map((name) => form.elements[name]).filter(Boolean);
const heldIn = (field) => (field.type === "checkbox" ? "checked" : "value");
const keyOf = (form) => KEPT + form.elements.draft.value;

function keep(form) {
  sessionStorage.setItem(keyOf(form), JSON.stringify(fieldsOf(form).map((field) => [field.name, field[heldIn(field)]])));
}

function restore(form) {
  const kept = sessionStorage.getItem(keyOf(form));
  if (!kept) return;
  const values = new Map(JSON.parse(kept));
  for (const field of fieldsOf(form)) if (values.has(field.name)) field[heldIn(field)] = values.get(field.name);
  const told = document.querySelector("[data-restored]");
  told.hidden = false;
  told.querySelector("button").addEventListener("click", () => {
    sessionStorage.removeItem(keyOf(form));
    form.reset();
    told.hidden = true;
    form.elements.body_md.focus();
  });
}

function completeNames(form) {
  const field = form.elements.to;
  const options = [...(field.list?.options ?? [])];
  const names = options.map((option) => option.value);
  field.addEventListener("input", () => {
    const before = field.value.slice(0, field.value.lastIndexOf(",") + 1);
    const lead = before && `${before} `;
    options.forEach((option, at) => { option.value = lead + names[at]; });
  });
}

export function bindDrafts() {
  const sending = sessionStorage.getItem(SENDING);
  if (sending && document.querySelector("[data-sent]")) {
    sessionStorage.removeItem(KEPT + sending);
    sessionStorage.removeItem(SENDING);
  }
  document.addEventListener("submit", (event) => {
    if (event.target.matches?.("form[action='/mail/sign-out']")) sessionStorage.clear();
  });
  const form = document.querySelector("form[data-letter]");
  if (!form) return;
  sessionStorage.removeItem(SENDING);
  if (form.hasAttribute("data-kept")) keep(form);
  else restore(form);
  form.addEventListener("input", () => keep(form));
  form.addEventListener("submit", (event) => {
    keep(form);
    if (event.submitter?.value === "send") sessionStorage.setItem(SENDING, form.elements.draft.value);
  });
  completeNames(form);
}
