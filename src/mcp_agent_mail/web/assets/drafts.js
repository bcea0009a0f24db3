// What is not sent yet stays in this tab until it is, or until its session ends. Names are completed one by one.
const KEPT = "draft:";
const SENDING = "sending";
const FIELDS = ["to", "subject", "body_md", "thread_id", "importance", "ack_required", "acknowledge", "broadcast", "idempotency_key"];

const read = (field) => (field.type === "checkbox" ? field.checked : field.value);
function write(field, value) {
  if (field.type === "checkbox") field.checked = value;
  else field.value = value;
}

function fieldsOf(form) {
  return FIELDS.map((name) => form.elements[name]).filter(Boolean);
}

function keep(form) {
  const values = fieldsOf(form).map((field) => [field.name, read(field)]);
  sessionStorage.setItem(KEPT + form.elements.draft.value, JSON.stringify(values));
}

function restore(form) {
  const kept = sessionStorage.getItem(KEPT + form.elements.draft.value);
  if (!kept) return;
  const values = new Map(JSON.parse(kept));
  for (const field of fieldsOf(form)) if (values.has(field.name)) write(field, values.get(field.name));
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

function forgetAll() {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(KEPT) || key === SENDING) sessionStorage.removeItem(key);
}

export function bindDrafts() {
  const sending = sessionStorage.getItem(SENDING);
  if (sending && document.querySelector("[data-sent]")) {
    sessionStorage.removeItem(KEPT + sending);
    sessionStorage.removeItem(SENDING);
  }
  document.addEventListener("submit", (event) => {
    if (event.target.matches?.("form[action='/mail/sign-out']")) forgetAll();
  });
  const form = document.querySelector("form[data-letter]");
  if (!form) return;
  if (form.hasAttribute("data-kept")) keep(form);
  else restore(form);
  form.addEventListener("input", () => keep(form));
  form.addEventListener("submit", (event) => {
    keep(form);
    if (event.submitter?.value === "send") sessionStorage.setItem(SENDING, form.elements.draft.value);
  });
  completeNames(form);
}
