// The one place where HTML becomes nodes: our own pages, from this very server.
export const first = (selector) => document.querySelector(selector);
export const all = (selector) => [...document.querySelectorAll(selector)];

const policy = self.trustedTypes?.createPolicy("pages", { createHTML: (text) => text });

export async function fetchPage(address, how) {
  const { href } = new URL(address, location.href);
  if (!href.startsWith(`${location.origin}/mail`)) throw new Error("not a page of ours");
  const signal = AbortSignal.timeout(20000);
  const answer = await fetch(href, { signal, headers: { accept: "text/html" }, ...how });
  const text = await answer.text();
  const page = new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
  return Object.assign(page, { status: answer.status });
}
