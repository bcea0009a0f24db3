"""What may be told of a text: the words of it that stand in this program, and nothing else.

Whoever helps has the program, so its own words give nothing away. What people, agents and machines put between them
is in none of its files: subjects, names, paths and tokens are left out without being looked for.
"""

from __future__ import annotations

import ast
import builtins
import errno
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Self

from mcp_agent_mail.core.lazy.dataclass import dataclass

UNTOLD = "(not told)"
_BEGINNING = 10
_WORD = re.compile(r"[a-z][a-z0-9_ -]{0,47}|[A-Z][A-Z_]{2,31}")
_FACT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d|Z)?|\d{1,3}(\.\d{1,4}){1,2}")
_FRAME = re.compile(r"mcp_agent_mail/([A-Za-z0-9_/]{1,200}\.py)(?::|\", line )(\d{1,6})")
_NAME = re.compile(r"\b[A-Z][A-Za-z]{2,60}\b")
_MOST_FRAMES = 12
_OF_SQLITE = (
    "database disk image is malformed",
    "database is locked",
    "database or disk is full",
    "disk I/O error",
    "file is not a database",
    "attempt to write a readonly database",
    "unable to open database file",
    "no such table",
)
_ERRORS_OF_SQLITE = ("DatabaseError", "OperationalError", "IntegrityError", "InterfaceError", "ProgrammingError")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWords:
    """`texts` stand whole in the program; `beginnings` are those that are sentences, by how they begin; `classes` are
    names of errors; `files` are the program's own, from its folder on.
    """

    texts: Collection[str]
    beginnings: Mapping[str, Collection[str]]
    classes: Collection[str]
    files: Collection[str]

    @classmethod
    def of_package(cls, folder: Path) -> Self:
        """Reads every module below `folder`: a second of work."""
        texts: set[str] = set()
        classes = {name for name in dir(builtins) if name.endswith(("Error", "Exception", "Interrupt", "Exit"))}
        files = sorted(folder.rglob("*.py"))
        for file in files:
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.add(node.value)
                elif isinstance(node, ast.ClassDef):
                    classes.add(node.name)
        return cls(
            texts=frozenset(texts),
            beginnings=_by_beginning(texts),
            classes=frozenset({*classes, *_ERRORS_OF_SQLITE}),
            files=frozenset(file.relative_to(folder).as_posix() for file in files),
        )

    def word(self, text: str) -> str:
        """A word or a code of the program's, a time or a version as it is; anything else is not told."""
        is_ours = _WORD.fullmatch(text) and text in self.texts
        return text if is_ours or _FACT.fullmatch(text) else UNTOLD

    def told(self, text: str) -> str:
        """How a sentence of the program's begins, up to where it was filled in, and what SQLite or the system said."""
        begun = max(
            (one for one in self.beginnings.get(text[:_BEGINNING], ()) if text.startswith(one)), key=len, default=""
        )
        said = [one for one in (*_OF_SQLITE, *_of_system()) if one in text and one not in begun]
        parts = [*([f"{begun}…" if len(begun) < len(text) else begun] if begun else []), *said]
        return " ".join(parts) or UNTOLD

    def errors(self, text: str) -> list[str]:
        """The kinds of errors that a trace names."""
        return [name for name in dict.fromkeys(_NAME.findall(text)) if name in self.classes][:_MOST_FRAMES]

    def frames(self, text: str) -> list[str]:
        """Where in the program a trace has been, `store/outbox.py:12`."""
        found = [f"{file}:{line}" for file, line in _FRAME.findall(text) if file in self.files]
        return found[:_MOST_FRAMES]


def _by_beginning(texts: Collection[str]) -> dict[str, list[str]]:
    """Sentences up to the first place that is filled in, by their first characters."""
    found: dict[str, list[str]] = {}
    for text in texts:
        begun = text.partition("%")[0].partition("\n")[0].rstrip()
        if len(begun) >= _BEGINNING and " " in begun:
            found.setdefault(begun[:_BEGINNING], []).append(begun)
    return found


def _of_system() -> list[str]:
    return [os.strerror(number) for number in errno.errorcode]
