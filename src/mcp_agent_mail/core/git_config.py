"""The text of a Git configuration file as data: names and values, nothing followed and nothing done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcp_agent_mail.core.errors import InvalidInput

Entry = tuple[str, str | None]
"""`section.Sub Section.key`, section and key in small letters; the value is None where the key stands alone."""

_BLANK = re.compile(r"(?:[ \t\r\n]|[#;][^\n]*)*")
_SECTION = re.compile(r'\[(?P<name>[A-Za-z0-9.-]*)(?:[ \t\r]+"(?P<sub>(?:[^"\\\n]|\\[^\n])*)")?\]')
_KEY = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9-]*)[ \t]*(?P<has_value>=|\n|\Z)")
_PLAIN = re.compile(r'[^"\\#; \t\r\n]+')
_QUOTED = re.compile(r'[^"\\\n]+')
_SUB_ESCAPED = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}
_SPECIAL = re.compile(r'[\\"\n\t\b]')


class UnfitConfig(InvalidInput):
    """No configuration that Git would read."""


def parse_config(text: str) -> list[Entry]:
    """In the order they stand. Raises UnfitConfig where Git would refuse the file."""
    return list(_entries(text.removeprefix("\ufeff").replace("\r\n", "\n")))


def _entries(text: str) -> Iterator[Entry]:
    section: str | None = None
    at = _skip(text, 0)
    while at < len(text):
        if found := _SECTION.match(text, at):
            sub = found["sub"]
            section = found["name"].lower() + ("" if sub is None else "." + _SUB_ESCAPED.sub(r"\1", sub))
            at = found.end()
        elif found := _KEY.match(text, at):
            name = ("" if section is None else f"{section}.") + found["name"].lower()
            at = found.end()
            value: str | None = None
            if found["has_value"] == "=":
                value, at = _value(text, at)
            yield name, value
        else:
            raise _unfit(text, at)
        at = _skip(text, at)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> tuple[str, int]:
    """The value that begins at `at`, without the blanks around it, and where it ends."""
    parts: list[str] = []
    blanks, is_quoted = "", False
    while at < len(text) and (is_quoted or text[at] != "\n"):
        letter = text[at]
        if not is_quoted and letter in " \t\r":
            blanks += letter if parts else ""
            at += 1
            continue
        if not is_quoted and letter in "#;":
            end = text.find("\n", at)
            return "".join(parts), len(text) if end < 0 else end
        part, at, turns = _part(text, at, is_quoted=is_quoted)
        is_quoted ^= turns
        # What is quoted counts as begun, even if it is empty; so do the blanks behind it.
        parts += [blanks, part] if part else []
        blanks = "" if part else blanks
    if is_quoted:
        raise _unfit(text, at)
    return "".join(parts), at


def _part(text: str, at: int, *, is_quoted: bool) -> tuple[str, int, bool]:
    """A piece of a value, where it ends, and whether it was a quotation mark."""
    if text[at] == '"':
        return "", at + 1, True
    if text[at] == "\\":
        letter = text[at + 1 : at + 2]
        if letter == "\n":
            return "", at + 2, False
        if letter not in _ESCAPED:
            raise _unfit(text, at)
        return _ESCAPED[letter], at + 2, False
    found = (_QUOTED if is_quoted else _PLAIN).match(text, at)
    if found is None:
        raise _unfit(text, at)
    return found[0], found.end(), False


def _unfit(text: str, at: int) -> UnfitConfig:
    return UnfitConfig(f"line {text.count(chr(10), 0, at) + 1} is no line of a Git configuration.")


def is_true(value: str | None) -> bool:
    """As Git reads a truth; a key that stands alone is true. What is neither is false."""
    return value is None or value.lower() in ("true", "yes", "on") or (value.isdigit() and int(value) != 0)


def quoted(value: str) -> str:
    """`value` as it is written into a configuration file."""
    return '"' + _SPECIAL.sub(_escape, value) + '"'


def _escape(found: re.Match[str]) -> str:
    return "\\" + {"\n": "n", "\t": "t", "\b": "b"}.get(found[0], found[0])
