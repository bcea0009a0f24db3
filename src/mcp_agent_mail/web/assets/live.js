// A page that hears of something asks for itself anew. New rows, and what is pointed at, wait: nothing moves.
import { hrefOf, reach, shown } from "./acts.js";
import { listen } from "./events.js";
import { all, fetchPage, first } from "./swap.js";

// Three looks may come at once, then one each 600 ms.
const TOGETHER_MS = 20;
const AGAIN_MS = 600;
const FAILED_MS = 5000;
const RESTART_MS = 8000;
let timer = 0;
let paidUntil = 0;
let isDue = false;
let awaySince = 0;


// `all`: the server is there again. While a look goes on, the timer is below zero.
function soon(kind) {
  isDue = true;
  if (kind === "all" && timer > 0) {
    clearTimeout(timer);
    paidUntil = timer = 0;
  }
  if (timer || document.visibilityState === "hidden") return;
  timer = setTimeout(look, Math.max(TOGETHER_MS, paidUntil - 2 * AGAIN_MS - Date.now()));
}

async function look() {
  const began = Date.now();
  let pause = AGAIN_MS;
  timer = -1;
  isDue = false;
  try {
    const { href } = location;
    const page = await fetchPage(href);
    if (first(".who form") && !page.querySelector(".who form")) throw { status: 401 };
    if (page.status !== 200) throw page;
    showLost(200);
    if (href === location.href) show(page);
    else soon();
  } catch ({ status = 500 }) {
    isDue = true;
    pause = FAILED_MS;
    showLost(status, began);
  }
  timer = 0;
  paidUntil = Math.max(began, paidUntil) + pause + Date.now() - began;
  if (isDue) soon();
}

function show(page) {
  document.title = page.title;
  showRows(page);
  showRegions(page);
}

function showLost(status, at) {
  awaySince = status < 500 ? 0 : awaySince || at;
  const why = awaySince ? Date.now() - awaySince > RESTART_MS && "away" : status === 401 && "out";
  for (const one of all("[data-lost]")) one.hidden = one.dataset.lost !== why;
  first("[data-lost] time").textContent = new Date(awaySince).toTimeString().slice(0, 5);
}

// What is new waits; what was read elsewhere is shown so where it is.
function showRows(page) {
  const button = first(".fresh");
  if (!button || new URLSearchParams(location.search).has("before")) return;
  const rows = first("[data-fresh]");
  const found = [...page.querySelectorAll("[data-fresh] > *")];
  const known = new Map([...(rows?.children ?? [])].map((row) => [hrefOf(row), row]));
  for (const row of found) known.get(hrefOf(row))?.classList.toggle("unread", row.matches(".unread"));
  const fresh = found.filter((row) => !known.has(hrefOf(row)));
  // Behind rows that are all new there may be more; and in a thread, on its further pages.
  const isGap = rows && fresh.length === found.length;
  const { behind, newest } = page.querySelector(".fresh").dataset;
  const count = fresh.length + Math.max(0, behind - button.dataset.behind);
  button.hidden = !count;
  button.textContent = `${count}${isGap ? "+" : ""} new`;
  button.onclick = () => {
    if (!fresh.length) return location.assign(newest);
    if (!rows || isGap) return location.reload();
    rows[rows.dataset.fresh](...fresh);
    showRows(page);
    reach(fresh[0]);
  };
}

function showRegions(page) {
  for (const region of all("[data-live]")) {
    region.pending = page.querySelector(`[data-live="${CSS.escape(region.dataset.live)}"]`);
  }
  settle();
}

function settle() {
  for (const region of all("[data-live]")) {
    if (!region.pending || region.isEqualNode(region.pending)) continue;
    if (region.matches(":hover, :focus-within, :has(.choose :checked)")) continue;
    region.replaceChildren(...region.pending.childNodes);
    region.pending = null;
    shown();
  }
}

listen(soon);
addEventListener("visibilitychange", soon);
for (const end of ["mouseout", "focusout"]) addEventListener(end, () => setTimeout(settle));
const region = first("[data-live-every]");
if (region) setInterval(soon, region.dataset.liveEvery * 1000);
