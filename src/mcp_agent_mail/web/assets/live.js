// A page that hears of something asks for itself anew. New rows, and what somebody points at, wait: nothing moves.
import { linkOf, reach, shown } from "./acts.js";
import { listen } from "./events.js";
import { fetchPage } from "./swap.js";

// What a commit tells comes together. Three looks may come at once, then one each 600 ms.
const TOGETHER_MS = 20;
const AGAIN_MS = 600;
const FAILED_MS = 5000;
let timer = 0;
let paidUntil = 0;
let isDue = false;

export function bindLive() {
  if (!document.querySelector(".side")) return;
  listen(soon);
  document.addEventListener("visibilitychange", () => isDue && soon());
  for (const end of ["mouseout", "focusout"]) document.addEventListener(end, () => setTimeout(settle));
  const region = document.querySelector("[data-live-every]");
  if (region) setInterval(soon, region.dataset.liveEvery * 1000);
}

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
    const page = await fetchPage(location.href);
    if (!page.isOk) throw page;
    showRows(page);
    showRegions(page);
  } catch {
    isDue = true;
    pause = FAILED_MS;
  }
  timer = 0;
  paidUntil = Math.max(began, paidUntil) + pause + Date.now() - began;
  if (isDue) soon();
}

const hrefOf = (row) => linkOf(row)?.getAttribute("href");

// New mail of a list, or of a thread; what was read elsewhere is shown so, and its row stays where it is.
function showRows(page) {
  const button = document.querySelector(".fresh");
  if (!button || new URLSearchParams(location.search).has("before")) return;
  const rows = document.querySelector(".list .rows, .thread .messages");
  const found = [...page.querySelectorAll(".list .rows > *, .thread .messages > *")];
  const known = new Map([...(rows?.children ?? [])].map((row) => [hrefOf(row), row]));
  for (const row of found.filter((one) => !one.matches(".unread"))) {
    const old = known.get(hrefOf(row));
    old?.classList.remove("unread");
    old?.querySelector(".dot")?.remove();
  }
  const fresh = found.filter((row) => !known.has(hrefOf(row)));
  button.hidden = !fresh.length;
  button.textContent = `${fresh.length} new`;
  button.onclick = () => {
    button.hidden = true;
    if (!rows) return location.reload();
    rows[rows.matches(".thread *") ? "append" : "prepend"](...fresh.map((row) => document.adoptNode(row)));
    reach(fresh[0]);
  };
}

function showRegions(page) {
  for (const region of document.querySelectorAll("[data-live]")) {
    const fresh = page.querySelector(`[data-live="${CSS.escape(region.dataset.live)}"]`);
    if (fresh && !region.isEqualNode(fresh)) region.pending = document.adoptNode(fresh);
  }
  settle();
}

function settle() {
  for (const region of document.querySelectorAll("[data-live]")) {
    if (!region.pending || region.matches(":hover, :focus-within, :has(.choose :checked)")) continue;
    region.replaceChildren(...region.pending.childNodes);
    region.pending = null;
    shown();
  }
}
