"""markdown-it, a CommonMark reader of others' making, as the judge of where images stand."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from markdown_it import MarkdownIt

from mcp_agent_mail.domain.markdown_images import ImageTarget, find_images, replace_targets

_DEFINED = re.compile(r"\]:")
_RUN_ON = re.compile(r"\]:[^\r\n]*(?:\r\n?|\n)(?![\r\n])")
_LISTED = re.compile(r"[-+*]|\d[.)]")
_LAZY = re.compile(r"[^\r\n](?:\r\n?|\n)(?: {4}| {0,3}\t)")
_HALF = re.compile(r"!\[[^\]]*\](?:\((?!\w*\))|\[\[)")


def read_by_rule(body: str) -> bool:
    """Whether markdown-it goes by the specification here. Where it departs: text that follows a definition without a
    blank line between, a reference with what is no inline target behind it, a far indented line that goes on outside
    of a list's item, and a comment that ends in `--->`.
    """
    departs = _LISTED.search(body) and _LAZY.search(body)
    departs = departs or _RUN_ON.search(body) or (_DEFINED.search(body) and _HALF.search(body))
    return "--->" not in body and not departs


def judged_targets(body: str) -> list[str]:
    """The targets of the images that are shown, as often as they are."""
    return [
        child.attrs["src"]
        for token in _reader().parse(body)
        for child in token.children or ()
        if child.type == "image" and child.attrs["src"]
    ]


def require_agreement(body: str) -> list[ImageTarget]:
    """The images found, which are all those that the judge sees, and no other place is theirs."""
    found = find_images(body)
    marks = {f"MARK{number}": image.target for number, image in enumerate(found)}
    marked = body
    for mark, image in reversed(list(zip(marks, found, strict=True))):
        marked = marked[: image.start] + mark + marked[image.end :]

    after = judged_targets(marked)

    assert [marks.get(mark) for mark in after] == judged_targets(body), body
    assert set(after) == set(marks), body
    assert replace_targets(body, found, {}) == body
    return found


@cache
def _reader() -> Any:
    # Any: what is taken from it here is no part of its types.
    reader: Any = MarkdownIt("commonmark", {"maxNesting": 1_000})
    # Targets as they are meant: neither made fit for a page, nor left out for what they may do there.
    reader.normalizeLink = lambda url: url
    reader.validateLink = lambda _: True
    return reader
