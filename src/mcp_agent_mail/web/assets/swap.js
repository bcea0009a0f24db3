// The one place where HTML becomes nodes: that of our own pages, fetched from this very server.
const policy = self.trustedTypes?.createPolicy("pages", { createHTML: (text) => text });

export async function fetchPage(address) {
  const url = new URL(address, location.href);
  if (url.origin !== location.origin || !url.pathname.startsWith("/mail")) throw new Error("not a page of ours");
  const signal = AbortSignal.timeout(20000);
  const answer = await fetch(url, { signal, credentials: "same-origin", headers: { accept: "text/html" } });
  const text = await answer.text();
  const page = new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
  return Object.assign(page, { isOk: answer.ok });
}
