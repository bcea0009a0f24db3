"""JSON as text: each value with the place where it stands. Comments and trailing commas are read over.

Clients differ in whether they allow those; whoever wrote them into a file knows that the client does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_agent_mail.clients.setup.edits.text import UnfitText, line_at

MAX_DEPTH = 100

# Any: a plain JSON value; mypy's recursive form hides more than it says.
Json = Any

Path = Sequence[str | int]
"""Names of members and places of items, from the outermost on."""

_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*(?s:.*?)\*/)*+")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+"')
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_COMMENT = re.compile(r"//[^\r\n]*|/\*(?s:.*?)\*/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value from `start` up to `end`; `close` is where the closing bracket of an object or array stands."""

    start: int
    end: int
    value: Json
    members: Sequence[Member] = ()
    items: Sequence[Node] = ()

    @property
    def close(self) -> int:
        return self.end - 1

    def find(self, key: str) -> Member | None:
        """The member of that name; of several the last one, as every reader takes it."""
        return next((member for member in reversed(self.members) if member.key == key), None)

    def find_path(self, path: Path) -> Node | None:
        """The value at the path; None where there is none."""
        node = self
        for key in path:
            if isinstance(key, int):
                if key >= len(node.items):
                    return None
                node = node.items[key]
                continue
            member = node.find(key)
            if member is None:
                return None
            node = member.node
        return node


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """`start` is where its name begins."""

    key: str
    start: int
    node: Node


def parse(text: str) -> Node:
    """The one value that the text holds. Raises UnfitText with the line."""
    return _Reading(text).whole()


def comments_between(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the comments stand in a gap between two values."""
    return [found.span() for found in _COMMENT.finditer(text, start, end)]


def skip_gap(text: str, at: int) -> int:
    """The first place from `at` on that is neither blank nor comment."""
    found = _GAP.match(text, at)
    return found.end() if found else at


@dataclass(slots=True)
class _Reading:
    text: str
    at: int = 0
    depth: int = field(default=0)

    def whole(self) -> Node:
        self._skip()
        node = self._value()
        self._skip()
        if self.at < len(self.text):
            raise self._unfit("something follows the end of the JSON value")
        return node

    def _skip(self) -> None:
        self.at = skip_gap(self.text, self.at)

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _unfit(self, what: str) -> UnfitText:
        return UnfitText(what, line=line_at(self.text, self.at))

    def _value(self) -> Node:
        start, first = self.at, self._next()
        if first in ("{", "["):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise self._unfit(f"it is nested more than {MAX_DEPTH} deep")
            self.at += 1
            node = self._object(start) if first == "{" else self._array(start)
            self.depth -= 1
            return node
        if first == '"':
            return self._text(start)
        found = _PLAIN.match(self.text, start)
        if found is None:
            raise self._unfit(f"{first!r} begins no JSON value" if first else "the JSON ends before its value does")
        self.at = found.end()
        try:
            return Node(start=start, end=self.at, value=json.loads(found[0]))
        except ValueError:
            raise self._unfit("that number is too long") from None

    def _text(self, start: int) -> Node:
        value = self._string()
        return Node(start=start, end=self.at, value=value)

    def _string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self._unfit("a JSON string begins here that does not end, or holds what none may hold")
        self.at = found.end()
        return str(json.loads(found[0]))

    def _object(self, start: int) -> Node:
        members: list[Member] = []
        while self._more("}", bool(members)):
            key_start = self.at
            if self._next() != '"':
                raise self._unfit("a name in double quotes is missing")
            key = self._string()
            self._skip()
            if self._next() != ":":
                raise self._unfit(f"a colon is missing after {key!r:.80}")
            self.at += 1
            self._skip()
            members.append(Member(key=key, start=key_start, node=self._value()))
        value = {member.key: member.node.value for member in members}
        return Node(start=start, end=self.at, value=value, members=members)

    def _array(self, start: int) -> Node:
        items: list[Node] = []
        while self._more("]", bool(items)):
            items.append(self._value())
        return Node(start=start, end=self.at, value=[item.value for item in items], items=items)

    def _more(self, close: str, has_some: bool) -> bool:
        """Whether another part follows, up to which all is read; else the bracket is."""
        self._skip()
        if has_some and self._next() == ",":
            self.at += 1
            self._skip()
        elif has_some and self._next() != close:
            raise self._unfit(f"a comma or {close!r} is missing")
        if self._next() != close:
            return True
        self.at += 1
        return False
