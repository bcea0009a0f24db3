"""Searches in a bundle from a plain file server: in the machine's chromium, else by its script alone in Node."""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.corpus import COMMONEST, Corpus
from benchmarks.pages.paints import browser_path, settled_page, why_not
from benchmarks.wire import Refused

SEARCHES = 50
_BEGIN_S = 20.0
_LOOK_S = 0.05
_LINES_OF_ANSWERS = Path(__file__).with_name("searches.mjs")
_ASK = """async (words) => {
  const form = document.querySelector("[data-search]");
  const [field, said, list] = ["input", "[data-said]", "[data-found]"].map((one) => form.querySelector(one));
  said.textContent = "";
  list.replaceChildren();
  performance.clearResourceTimings();
  const isShown = () => said.textContent !== "" && (list.children.length > 0 || !/^[1-9]/.test(said.textContent));
  const began = performance.now();
  field.value = words;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((resolve) => {
    const watcher = new MutationObserver(() => { if (isShown()) { watcher.disconnect(); resolve(); } });
    watcher.observe(form, { childList: true, subtree: true, characterData: true });
  });
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const took = performance.now() - began;
  const read = performance.getEntriesByType("resource");
  return { took, files: read.length, bytes: read.reduce((sum, one) => sum + one.decodedBodySize, 0),
           said: said.textContent };
}"""
"""Until what was found is painted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search of `words`: what the page said of it, and the files that were read for it."""

    words: str
    said: str
    took_ms: float
    files: int
    bytes: int

    @property
    def found(self) -> int:
        """Messages."""
        return int(self.said.partition(" ")[0].replace(",", ""))


def queries(count: int) -> list[str]:
    """Words, the commonest and rare ones, their beginnings, several together, names, and what is nowhere."""
    pick, corpus = random.Random(5), Corpus("searches")
    found = [COMMONEST, COMMONEST[:2], "worker07", "cart", "cart 7", "zzzzqqq", "total money", "re", "a", "token vault"]
    while len(found) < count:
        words = corpus.words(pick.choice((1, 1, 2, 3)))
        found.append(" ".join(word[: pick.choice((2, 3, 4, 40))] for word in words))
    return found[:count]


@contextmanager
def file_server(folder: Path) -> Iterator[str]:
    """The address of `python -m http.server` over the folder: a server that knows nothing of bundles."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    until = time.monotonic() + _BEGIN_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(_LOOK_S)
        else:
            return


def in_browser(address: str, asked: Sequence[str]) -> tuple[list[Search], list[Search]]:
    """Each search in a page that has read nothing yet, and all of them in one page."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only `make share` and `make browser` install it

    firsts = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector("[data-search]:not([hidden])")
        others = [_search(words, page.evaluate(_ASK, words)) for words in asked]
        for words in asked:
            context = browser.new_context()
            page = settled_page(context)
            page.goto(address)
            page.wait_for_selector("[data-search]:not([hidden])")
            firsts.append(_search(words, page.evaluate(_ASK, words)))
            context.close()
        browser.close()
    return firsts, others


def in_node(address: str, folder: Path, asked: Sequence[str]) -> list[Search]:
    """By the script of the bundle without a page, which reads nothing twice."""
    command = [
        "node",
        str(_LINES_OF_ANSWERS),
        address,
        str(folder / "assets" / "bundle.js"),
        str(folder / "index.html"),
    ]
    ended = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False)
    if ended.returncode:
        raise Refused(ended.stderr[-2000:])
    return [_search(words, json.loads(line)) for words, line in zip(asked, ended.stdout.splitlines(), strict=True)]


# What a script answers.
def _search(words: str, answer: dict[str, Any]) -> Search:
    return Search(
        words=words, said=answer["said"], took_ms=answer["took"], files=answer["files"], bytes=answer["bytes"]
    )


def how() -> str | None:
    """`browser` or `node`; None where neither is there."""
    if why_not() is None:
        return "browser"
    return "node" if shutil.which("node") else None
