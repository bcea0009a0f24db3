"""The rules for patterns a second time, slowly and in the open: what the engine is compared with.

Paths are enumerated, and each rule is applied to each as it is written in docs/concepts/reservations.md.
Wildcards are matched by trying every way, on whole paths, with nothing shared with the product.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product

Mark = tuple[str, bool]
"""A pattern's text, and whether the workspace has a folder of its very name."""

CLASSES = {"[:alpha:]": lambda c: c.isascii() and c.isalpha(), "[:digit:]": lambda c: c.isascii() and c.isdigit()}


def paths(names: Iterable[str], depth: int) -> Iterator[str]:
    """Every path of at most so many of these names."""
    listed = list(names)
    for length in range(1, depth + 1):
        yield from ("/".join(path) for path in product(listed, repeat=length))


def is_wild(text: str) -> bool:
    return re.search(r"[*?\[]", re.sub(r"\\.", "", text)) is not None


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def folders_of(*patterns: str) -> frozenset[str]:
    """Rule 4: the proper prefixes without any wildcard segment of the patterns of a pair."""
    return frozenset(folder for pattern in patterns for folder in _literal_prefixes(pattern))


def _literal_prefixes(pattern: str) -> Iterator[str]:
    parts = split(pattern.strip("/"))
    for count in range(1, len(parts)):
        if any(is_wild(part) for part in parts[:count]):
            return
        yield "/".join(parts[:count])
        yield "/".join(unescaped(part) for part in parts[:count])


def matches(pattern: Mark, path: str) -> bool:
    """Rules 1 to 3, and the very name."""
    text, is_folder = pattern
    return _by_rules(text, path, is_folder=is_folder) or _by_name(text, path, is_folder=is_folder)


def _by_rules(text: str, path: str, *, is_folder: bool) -> bool:
    directory = _directory(text)
    if directory is not None and not is_wild(directory):  # rule 1
        return is_below(path, unescaped(directory))
    if not is_wild(text):  # rule 3
        return path == unescaped(text) or (is_folder and is_below(path, unescaped(text)))
    if text.endswith("/"):
        text += "**"
    if "/" in text:  # rule 2, from the root
        return wild_match(text.removeprefix("/"), path)
    return wild_match(text, path.rsplit("/", 1)[-1])  # rule 2, at any depth


def _by_name(text: str, path: str, *, is_folder: bool) -> bool:
    """The very name; with brackets or escapes, which make it another one, rule 1 holds for it too."""
    name = text.removeprefix("/")
    directory = _directory(name)
    if directory is not None and ("[" in name or "\\" in name):
        return is_below(path, directory)
    return path == name or (is_folder and not is_wild(text) and is_below(path, name))


def _directory(text: str) -> str | None:
    """`dir` of `dir/`, `dir/*`, `dir/**`."""
    head, slash, tail = text.rpartition("/")
    return head if head and slash and not tail.strip("*") else None


def is_below(path: str, directory: str) -> bool:
    """The directory itself, too."""
    return path == directory or path.startswith(f"{directory}/")


def wild_match(text: str, path: str) -> bool:
    """A line of .gitignore against a whole path, by trying every way."""
    return _names_match(split(text), path.split("/"))


def split(text: str) -> list[str]:
    """At the slashes that stand in no bracket."""
    parts = [""]
    while text:
        end = bracket_end(text) if text[0] == "[" else 2 if text[0] == "\\" else 1
        if text[0] == "/":
            parts.append("")
        else:
            parts[-1] += text[:end]
        text = text[end:]
    return parts


def _names_match(parts: Sequence[str], names: Sequence[str]) -> bool:
    if not parts:
        return not names
    first, rest = parts[0], parts[1:]
    if len(first) > 1 and not first.strip("*"):
        if not rest:
            return len(names) > 0
        return any(_names_match(rest, names[count:]) for count in range(len(names) + 1))
    return len(names) > 0 and _name_matches(first, names[0]) and _names_match(rest, names[1:])


@lru_cache(maxsize=100_000)
def _name_matches(text: str, name: str) -> bool:
    if not text:
        return not name
    if text[0] == "*":
        return any(_name_matches(text[1:], name[count:]) for count in range(len(name) + 1))
    if not name:
        return False
    if text[0] == "[":
        end = bracket_end(text)
        return in_bracket(text[:end], name[0]) and _name_matches(text[end:], name[1:])
    if text[0] == "\\":
        return text[1] == name[0] and _name_matches(text[2:], name[1:])
    return text[0] in {"?", name[0]} and _name_matches(text[1:], name[1:])


def bracket_end(text: str) -> int:
    """Where the bracket that `text` begins with has ended. A `]` right after the `[` belongs to it."""
    at = 2 if text[1] in "!^" else 1
    first = at
    while text[at] != "]" or at == first:
        at += len(_item(text, at))
    return at + 1


def _item(text: str, at: int) -> str:
    for name in CLASSES:
        if text.startswith(name, at):
            return name
    return text[at : at + 2] if text[at] == "\\" else text[at]


def in_bracket(bracket: str, character: str) -> bool:
    negated = bracket[1] in "!^"
    at, end = 2 if negated else 1, len(bracket) - 1
    found = False
    while at < end:
        item = _item(bracket, at)
        at += len(item)
        if item in CLASSES:
            found |= CLASSES[item](character)
        elif bracket[at] == "-" and at + 1 < end:
            high = _item(bracket, at + 1)
            at += 1 + len(high)
            found |= item[-1] <= character <= high[-1]
        else:
            found |= item[-1] == character
    return found is not negated
