// Runs the script of a bundle without a page: `node searches.mjs ADDRESS SCRIPT INDEX`, with a list of words on stdin.
// A line of JSON for each. What the script asks of a document is here, and nothing more.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [address, script, index] = process.argv.slice(2);
const said = /<form[^>]* data-search ([^>]*)>/.exec(readFileSync(index, "utf8"))[1];
const dataset = {};
for (const [, name, value] of said.matchAll(/data-([a-z-]+)="([^"]*)"/g))
  dataset[name.replace(/-(.)/g, (_, letter) => letter.toUpperCase())] = value;

const node = () => ({
  heard: {},
  children: [],
  append(...those) { this.children.push(...those); },
  replaceChildren(...those) { this.children = those; },
  addEventListener(name, told) { this.heard[name] = told; },
});
const parts = { input: node(), "[data-said]": node(), "[data-found]": node(), "[data-more]": node() };
const form = Object.assign(node(), { dataset, querySelector: (name) => parts[name] });
globalThis.document = { querySelector: () => form, createElement: node };

const plain = globalThis.fetch;
const AT_ONCE = 6;
let busy = 0;
const waiting = [];
let files = 0;
let bytes = 0;

// At most as many at once as a browser reads.
async function read(path) {
  if (busy === AT_ONCE) await new Promise((resolve) => waiting.push(resolve));
  else busy += 1;
  const text = await (await plain(new URL(path, address))).text();
  if (waiting.length > 0) waiting.shift()();
  else busy -= 1;
  return text;
}

globalThis.fetch = async (path) => {
  const text = await read(path);
  files += 1;
  bytes += Buffer.byteLength(text);
  return { ok: true, json: async () => JSON.parse(text) };
};

await import(pathToFileURL(script));
for (const words of JSON.parse(readFileSync(0, "utf8"))) {
  [files, bytes] = [0, 0];
  parts["[data-said]"].textContent = "";
  parts.input.value = words;
  const began = performance.now();
  await parts.input.heard.input();
  const took = performance.now() - began;
  console.log(JSON.stringify({ took, files, bytes, said: parts["[data-said]"].textContent }));
}
