// A page that hears of something asks for itself anew. Counts follow at once; new rows wait under a button, and a
// region that somebody points at waits until they leave it: nothing moves under the cursor.
import { listen } from "./events.js";
import { fetchPage } from "./swap.js";

const PAGES = '.side nav[aria-label="Pages"] a';
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
    showCounts(page);
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

function showCounts(page) {
  for (const link of document.querySelectorAll(PAGES)) {
    const fresh = page.querySelector(`${PAGES}[href="${CSS.escape(link.getAttribute("href"))}"] .count`);
    const shown = link.querySelector(".count");
    if (!fresh) shown?.remove();
    else if (shown) shown.textContent = fresh.textContent;
    else link.append(document.adoptNode(fresh));
  }
}

const hrefOf = (row) => row.querySelector("a.open")?.getAttribute("href");

function showRows(page) {
  const list = document.querySelector(".list");
  if (!list || new URLSearchParams(location.search).has("before")) return;
  const rows = list.querySelector(".rows");
  const found = [...page.querySelectorAll(".list .rows > [data-row]")];
  const known = new Set([...(rows?.children ?? [])].map(hrefOf));
  const fresh = found.filter((row) => !known.has(hrefOf(row)));
  markRead(rows, found);
  const button = buttonOf(list);
  button.hidden = !fresh.length;
  button.textContent = `${fresh.length} new`;
  button.onclick = () => {
    button.hidden = true;
    if (!rows) return location.reload();
    rows.prepend(...fresh.map((row) => document.adoptNode(row)));
    scrollTo({ top: 0 });
    rows.querySelector("a.open")?.focus({ preventScroll: true });
  };
}

// What was read elsewhere is shown so; its row stays where it is.
function markRead(rows, found) {
  if (!rows) return;
  const states = new Map(found.map((row) => [hrefOf(row), row]));
  for (const row of rows.children) {
    const now = states.get(hrefOf(row));
    if (!now || now.classList.contains("unread") || !row.classList.contains("unread")) continue;
    row.classList.remove("unread");
    row.querySelector(".dot")?.remove();
  }
}

function buttonOf(list) {
  const known = list.querySelector(".fresh");
  if (known) return known;
  const place = document.createElement("span");
  place.className = "fresh-place";
  place.setAttribute("role", "status");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "fresh";
  button.hidden = true;
  place.append(button);
  list.querySelector(".list-head")?.append(place);
  return button;
}

function showRegions(page) {
  for (const region of document.querySelectorAll("[data-live]")) {
    const fresh = page.querySelector(`[data-live="${CSS.escape(region.dataset.live)}"]`);
    if (!fresh) continue;
    region.pending = document.adoptNode(fresh);
    if (!isHeld(region)) replace(region);
    else if (!region.waits) {
      region.waits = true;
      for (const end of ["mouseleave", "focusout"]) {
        region.addEventListener(end, () => setTimeout(() => isHeld(region) || replace(region)));
      }
    }
  }
}

const isHeld = (region) => region.matches(":hover, :focus-within, :has(.choose :checked)");

function replace(region) {
  if (!region.pending) return;
  region.replaceChildren(...region.pending.childNodes);
  region.pending = null;
}
