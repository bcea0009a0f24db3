"""The text of a Git configuration file as data: names and values, nothing followed and nothing done.

The text may be a stranger's. What is made of it grows with the text alone, never with the product of its parts: only
what is wanted is kept, every name is made once, and there are bounds on how much of each kind there may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.pattern import lazy_pattern

Entry = tuple[str, str | None]
"""`section.Sub Section.key`, section and key in small letters; the value is None where the key stands alone."""

MAX_STATEMENTS = 50_000
"""Sections and settings: more than a megabyte of ordinary ones holds."""
MAX_WANTED = 5_000
MAX_LENGTH = 4_096
"""Of a section's name, and of a value that is wanted: as long as a path may be."""

# Every repetition gives nothing back: none can be tried in more than one way.
_BLANK = r"(?>(?:[ \t\r\n]++|[#;][^\n]*+)*)"
_SECTION = r'\[([A-Za-z0-9.-]*+)(?:[ \t\r]++"((?>(?:[^"\\\n]++|\\[^\n])*))")?\]'
_KEY = r"([A-Za-z][A-Za-z0-9-]*+)[ \t]*+"
_VALUE = r'((?>(?:[^"\\#;\n]++|\\(?:[ntb\\"\n]|\Z)|"(?>(?:[^"\\\n]++|\\[ntb\\"\n])*)")*))'
_STATEMENT = lazy_pattern(rf"(?:{_SECTION}|{_KEY}(?:={_VALUE}(?=[#;\n]|\Z)|(?=\n|\Z))){_BLANK}")
_BEGIN = re.compile(_BLANK)
_BEFORE_VALUE = re.compile(r'(?>(?:[ \t\r]++|\\\n|"(?>(?:\\\n)*)")*)')
_BLANKS = " \t\r"
_MARK = re.compile(r'"|\\(.?)', re.DOTALL)
_ESCAPE = "\\"
_SUB_ESCAPED = re.compile(r"\\(.)")
_UNESCAPED = r"\1"
_ESCAPED = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}
_NUMBER = re.compile(r"[0-9]*[1-9][0-9]*+")
_SPECIAL = re.compile(r'[\\"\n\t\b]')


class UnfitConfig(InvalidInput):
    """No configuration that Git would read, or more than we do."""


def parse_config(text: str, wanted: re.Pattern[str]) -> list[Entry]:
    """Those in which `wanted` matches the whole of `section.key`, or of `section.*.key` where there is a subsection.

    In the order they stand. Raises UnfitConfig where Git would refuse the file, and for more than the bounds.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = list(islice(_entries(text, wanted), MAX_WANTED + 1))
    if len(found) > MAX_WANTED:
        raise _too_much(f"holds more than {MAX_WANTED:,} of the settings that are looked at", text, len(text))
    return found


def _entries(text: str, wanted: re.Pattern[str]) -> Iterator[Entry]:
    section = ""
    names: dict[str, str | None] = {}  # of this section, each made once
    begin = _BEGIN.match(text)
    at = begin.end() if begin else 0
    for _ in range(MAX_STATEMENTS):
        if at == len(text):
            return
        found = _STATEMENT.match(text, at)
        if found is None:
            raise _unfit(text, at)
        base, sub, key, raw = found.groups()
        if key is None:
            if len(base) + len(sub or "") > MAX_LENGTH:
                raise _too_much(f"has a section's name of more than {MAX_LENGTH:,} characters", text, at)
            section, names = _section(base, sub), {}
        else:
            key = key.lower()
            if key not in names:
                names[key] = _wanted_name(section, key, wanted)
            if (name := names[key]) is not None:
                if len(raw or "") > MAX_LENGTH:
                    raise _too_much(f"has a value of more than {MAX_LENGTH:,} characters", text, at)
                yield name, None if raw is None else _value(raw)
        at = found.end()
    if at < len(text):
        raise _too_much(f"holds more than {MAX_STATEMENTS:,} sections and settings", text, at)


def _section(base: str, sub: str | None) -> str:
    if sub is None:
        return base.lower()
    return f"{base.lower()}.{_SUB_ESCAPED.sub(_UNESCAPED, sub) if _ESCAPE in sub else sub}"


def _wanted_name(section: str, key: str, wanted: re.Pattern[str]) -> str | None:
    base, dot, _ = section.partition(".")
    shape = f"{base}.*" if dot else base
    return _joined(section, key) if wanted.fullmatch(_joined(shape, key)) else None


def _joined(section: str, key: str) -> str:
    return f"{section}.{key}" if section else key


def _value(raw: str) -> str:
    """Without the blanks around it: before what is quoted, even if that is empty, they are part of it."""
    if '"' not in raw and _ESCAPE not in raw:
        return raw.strip(_BLANKS)
    begun = _BEFORE_VALUE.match(raw)
    text = raw[begun.end() if begun else 0 :].rstrip(_BLANKS)
    return _MARK.sub(lambda mark: _ESCAPED.get(mark[1] or "", ""), text)


def _unfit(text: str, at: int) -> UnfitConfig:
    return UnfitConfig(
        f"line {_line(text, at)} is no line of a Git configuration.", hint="`git config --list` there says the same."
    )


def _too_much(what: str, text: str, at: int) -> UnfitConfig:
    return UnfitConfig(
        f"it {what} (line {_line(text, at)}).",
        hint="Take out of it what nobody needs, or move it into a file of your own (~/.gitconfig).",
    )


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def is_true(value: str | None) -> bool:
    """As Git reads a truth; a key that stands alone is true. What is neither is false."""
    return value is None or value.lower() in ("true", "yes", "on") or bool(_NUMBER.fullmatch(value))


def quoted(value: str) -> str:
    """`value` as it is written into a configuration file."""
    return '"' + _SPECIAL.sub(_escape, value) + '"'


def _escape(found: re.Match[str]) -> str:
    return "\\" + {"\n": "n", "\t": "t", "\b": "b"}.get(found[0], found[0])
