// The search of a bundle. All mail reads without it. What it reads are lists of words and messages, and what it shows
// is put in as text alone.
const form = document.querySelector("[data-search]");
const field = form.querySelector("input");
const said = form.querySelector("[data-said]");
const list = form.querySelector("[data-found]");
const more = form.querySelector("[data-more]");
const shards = form.dataset.shards.split(" ").filter((name) => name !== "");
const ofAFile = Number(form.dataset.ofAFile);
const SHOWN = 10;
const KEPT_FILES = 256;
const files = new Map();
let turn = 0;

function read(name) {
  if (!files.has(name)) {
    if (files.size >= KEPT_FILES) files.delete(files.keys().next().value);
    const answer = fetch(`search/${name}.json`, { credentials: "omit" }).then((got) => {
      if (!got.ok) throw new Error(`${name}: ${got.status}`);
      return got.json();
    });
    answer.catch(() => files.delete(name));
    files.set(name, answer);
  }
  return files.get(name);
}

// The lists that may hold a word which begins so: digits of its letters are in their names.
function listsOf(letters) {
  const digits = letters.map((letter) => `${(letter.codePointAt(0) >> 2) & 3}${letter.codePointAt(0) & 3}`).join("");
  const begin = `words${digits}${letters.length > 1 ? "" : "z"}`;
  return shards.filter((name) => name.startsWith(begin) || begin.startsWith(name));
}

// Numbers of the messages that hold a word which begins so; a single letter is looked for as a word.
async function holding(word) {
  const letters = [...word].slice(0, 40);
  const begin = letters.join("");
  const found = new Set();
  for (const words of await Promise.all(listsOf(letters).map(read))) {
    for (const [one, differences] of Object.entries(words)) {
      if (letters.length > 1 ? !one.startsWith(begin) : one !== begin) continue;
      let number = 0;
      for (const difference of differences) found.add((number += difference));
    }
  }
  return found;
}

async function search(text) {
  const words = [...new Set(text.normalize("NFKC").toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])].slice(0, 10);
  if (words.length === 0) return null;
  const sets = (await Promise.all(words.map(holding))).sort((one, other) => one.size - other.size);
  const found = [...sets[0]].filter((number) => sets.every((one) => one.has(number)));
  return found.sort((one, other) => other - one);
}

function part(name, text) {
  const node = document.createElement("span");
  node.className = name;
  node.textContent = text;
  return node;
}

function row([href, subject, sender, project, sent]) {
  const item = document.createElement("li");
  item.className = "row";
  const link = document.createElement("a");
  link.className = "open thread-line";
  // Of this bundle, and nothing else, whatever the file says.
  if (/^[a-z0-9-]+\/messages\/[0-9]+\.html$/.test(href)) link.href = href;
  link.append(part("subject", subject));
  const about = part("about", "");
  about.append(part("to", `from ${sender}`), part("place", project), part("sent", sent));
  item.append(link, about);
  return item;
}

async function show(found, from, mine) {
  const numbers = found.slice(from, from + SHOWN);
  const names = [...new Set(numbers.map((number) => Math.floor(number / ofAFile)))];
  const read_ = new Map(await Promise.all(names.map(async (name) => [name, await read(`messages-${name}`)])));
  if (mine !== turn) return;
  const rows = numbers.map((number) => row(read_.get(Math.floor(number / ofAFile))[number % ofAFile]));
  if (from === 0) list.replaceChildren(...rows);
  else list.append(...rows);
  more.hidden = from + SHOWN >= found.length;
  more.onclick = () => show(found, from + SHOWN, mine);
}

async function ask() {
  const mine = ++turn;
  try {
    const found = await search(field.value);
    if (mine !== turn) return;
    said.textContent = found === null ? "" : found.length === 1 ? "1 message" : `${found.length} messages`;
    await show(found ?? [], 0, mine);
  } catch {
    if (mine === turn) said.textContent = "The search could not be read: open these pages from a web server.";
  }
}

field.addEventListener("input", ask);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
form.hidden = false;
