"""Several paths in one text, as callers write them by mistake: joined by commas or blanks, or as a shell's braces.

A reservation of such a text would be of one file of that very name, and protect nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.patterns.budget import WorkBudget

MAX_EXPANDED = 20
"""Paths that braces are shown to stand for."""

_ENDING = lazy_pattern(r"(?:^|[^/])\.\w{1,10}$")
_WILDCARD = lazy_pattern(r"[*?\[]")
# Possessive: what cannot end as braces is not tried again from each of its commas.
_BRACES = lazy_pattern(r"(?<!\\)\{([^{},]*+,[^{}]*+)\}")
_MAX_BRACES = 12
"""Pairs of them in one text: 4,000 paths."""
_MAX_CHOICES = 200
"""Looked at in one round: the same one may be there often."""
_CHARS_PER_STEP = 20
# In runs: a text may have a thousand of them, and a call five hundred texts.
_MARKS = {by: re.compile(rf"\\.|[{{\[]+|[}}\]]+|{divider}+", re.DOTALL) for by, divider in ((",", ","), (" ", r"\s"))}
_JOINED = lazy_pattern(r"[,\s]")


def may_list(text: str) -> bool:
    """Whether there is a comma or a blank in it that could divide paths."""
    return bool(_JOINED.search(text.strip()))


def listed_paths(text: str, is_there: Callable[[str], bool]) -> list[str]:
    """The paths that a text seems to list, in its order; none when it is one path.

    Commas and blanks divide, but within braces and brackets and behind a backslash. Each part has to look like a path:
    with a slash, an ending or a wildcard, or because something `is_there`. As file names hold blanks more often than
    commas, what stands before a blank has to look like a whole path.
    """
    text = text.strip()
    if not may_list(text):
        return []
    by_comma = _divided(text, ",")
    if len(by_comma) == 1:
        return _listed_by_blanks(text, is_there)
    parts = [path for part in by_comma for path in _listed_by_blanks(part, is_there) or [part]]
    return parts if all(_is_path(part) or is_there(part) for part in parts) else []


def has_braces(text: str) -> bool:
    """Would a shell make several paths of it?"""
    return _BRACES.search(text) is not None


def expanded_braces(text: str, work: WorkBudget) -> list[str]:
    """What a shell would make of the braces in a text, MAX_EXPANDED at most; none where no braces hold a comma, and
    where more do than people write.

    Raises PatternsTooHard once `work` is spent.
    """
    texts = [text]
    for number in range(_MAX_BRACES + 1):
        work.spend(len(texts) * (1 + len(text) // _CHARS_PER_STEP))
        found = [_BRACES.search(one) for one in texts]
        if not any(found):
            return texts if number else []
        chosen: dict[str, None] = {}
        for one in islice(_chosen(texts, found), _MAX_CHOICES):
            chosen.setdefault(one)
            if len(chosen) == MAX_EXPANDED:
                break
        texts = list(chosen)
    return []


def _chosen(texts: Sequence[str], found: Sequence[re.Match[str] | None]) -> Iterator[str]:
    for one, match in zip(texts, found, strict=True):
        if match is None:
            yield one
        else:
            before, after = one[: match.start()], one[match.end() :]
            yield from (f"{before}{choice.strip()}{after}" for choice in match[1].split(","))


def _listed_by_blanks(text: str, is_there: Callable[[str], bool]) -> list[str]:
    *parts, last = _divided(text, " ")
    if not parts or not (_is_path(last) or is_there(last)):
        return []
    if all(_is_whole(part) or is_there(part) for part in parts):
        return [*parts, last]
    folders = {part.partition("/")[0] for part in (*parts, last)}
    is_of_one_folder = len(folders) == 1 and all("/" in part for part in (*parts, last))
    return [*parts, last] if is_of_one_folder else []


def _is_path(part: str) -> bool:
    return "/" in part or _is_whole(part)


def _is_whole(part: str) -> bool:
    """It ends as a file or a folder does, or is a pattern."""
    return part.endswith("/") or "://" in part or bool(_ENDING.search(part) or _WILDCARD.search(part))


def _divided(text: str, by: str) -> list[str]:
    """Without the blanks around each part; a blank stands for every white space."""
    parts, depth, begin = [], 0, 0
    for mark in _MARKS[by].finditer(text):
        kind = mark[0][0]
        if kind in "{[":
            depth += len(mark[0])
        elif kind in "}]":
            depth = max(0, depth - len(mark[0]))
        elif kind != "\\" and not depth:
            parts.append(text[begin : mark.start()])
            begin = mark.end()
    parts.append(text[begin:])
    return [part.strip() for part in parts if part.strip()] or [text]
