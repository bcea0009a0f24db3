"""Links of a page of the docs, and whether they lead anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_LINK = re.compile(r"\]\(([^)\s]+)\)")


def broken_links(page: Path) -> list[str]:
    """The links to pages and headings that there are not. Addresses of other sites are not looked at."""
    return [link for link in links_of(page.read_text(encoding="utf-8")) if not _leads(page, link)]


def links_of(text: str) -> list[str]:
    return _LINK.findall(text)


def _leads(page: Path, link: str) -> bool:
    if "://" in link:
        return True
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    return target.is_file() and (not heading or heading in anchors(target.read_text(encoding="utf-8")))


def anchors(text: str) -> Iterator[str]:
    """Of each heading the name that links call it by."""
    for line in text.splitlines():
        if line.startswith("#"):
            words = re.sub(r"[^\w\s-]", "", line.lstrip("#").strip().lower())
            yield re.sub(r"\s", "-", words)
