"""JSON as text: each value with the place where it stands. Comments and trailing commas are read over.

Clients differ in whether they allow those; whoever wrote them into a file knows that the client does. What has them is
read by us, value by value, and may be only so large.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

from mcp_agent_mail.clients.setup.edits.text import UnfitText, line_at
from mcp_agent_mail.core.lazy.dataclass import dataclass

MAX_DEPTH = 100
MOST_WORK = 20_000
"""Of values that are read by us, and of pieces of `_PIECE` characters that were read in vain before: some 0.1 s."""
_PIECE = 256

# Any: a plain JSON value; mypy's recursive form hides more than it says.
Json = Any

Path = Sequence[str | int]
"""Names of members and places of items, from the outermost on."""

_GAP = re.compile(r"(?>(?:[ \t\r\n]+|//[^\r\n]*|/\*(?s:.*?)\*/)*)")
_STRING = re.compile(r'"(?>(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*)"')
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_COMMENT = re.compile(r"//[^\r\n]*|/\*(?s:.*?)\*/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value of `text`, from `start` up to `end`; `close` is where the closing bracket of an object or array stands.

    Its parts are looked for when they are asked for: of a large file only the way to our entry is read by us, the
    rest by the standard library, in a hundredth of the time.
    """

    text: str = field(repr=False)
    start: int
    end: int
    value: Json = field(repr=False)
    parts: Sequence[Member] | Sequence[Node] | None = field(default=None, repr=False, compare=False)
    """Those that are read already, as of what the standard library cannot read."""

    @property
    def members(self) -> Sequence[Member]:
        """Those of an object, in order."""
        if not isinstance(self.value, dict):
            return ()
        if self.parts is None:
            return self._reading().members()
        return [part for part in self.parts if isinstance(part, Member)]

    @property
    def items(self) -> Sequence[Node]:
        """Those of an array, in order."""
        if not isinstance(self.value, list):
            return ()
        if self.parts is None:
            return self._reading().items()
        return [part for part in self.parts if isinstance(part, Node)]

    def _reading(self) -> _Reading:
        return _Reading(self.text, at=self.start, too_much="too many values stand where our entry has its place")

    @property
    def close(self) -> int:
        return self.end - 1

    def find(self, key: str) -> Member | None:
        """The member of that name; of several the last one, as every reader takes it."""
        return next((member for member in reversed(self.members) if member.key == key), None)

    def find_path(self, path: Path) -> Node | None:
        """The value at the path; None where there is none."""
        node: Node | None = self
        for key in path:
            if node is None:
                return None
            if isinstance(key, int):
                node = node.items[key] if isinstance(node.value, list) and key < len(node.value) else None
            else:
                member = node.find(key)
                node = None if member is None else member.node
        return node


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """`start` is where its name begins."""

    key: str
    start: int
    node: Node


@lru_cache(maxsize=2)
def parse(text: str) -> Node:
    """The one value that the text holds. Raises UnfitText with the line. The last ones are remembered: an edit asks for
    the same text many times. Nobody may change what they hold.
    """
    return _Reading(text).whole()


def comments_between(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the comments stand in a gap between two values."""
    return [found.span() for found in _COMMENT.finditer(text, start, end)]


def skip_gap(text: str, at: int) -> int:
    """The first place from `at` on that is neither blank nor comment."""
    found = _GAP.match(text, at)
    return found.end() if found else at


def _refuse(word: str) -> Json:
    raise ValueError(f"{word} is no JSON")


_PLAIN_JSON = json.JSONDecoder(parse_constant=_refuse)


@dataclass(slots=True)
class _Reading:
    text: str
    at: int = 0
    depth: int = 0
    work: int = 0
    too_much: str = "it is too large to be read with comments, trailing commas or a fault"

    def whole(self) -> Node:
        self._skip()
        node = self._value()
        self._skip()
        if self.at < len(self.text):
            raise self._unfit("something follows the end of the JSON value")
        return node

    def members(self) -> list[Member]:
        """Of the object that begins here."""
        self.at += 1
        found: list[Member] = []
        while self._more("}", bool(found)):
            start = self.at
            if self._next() != '"':
                raise self._unfit("a name in double quotes is missing")
            key = self._string()
            self._skip()
            if self._next() != ":":
                raise self._unfit(f"a colon is missing after {key!r:.80}")
            self.at += 1
            self._skip()
            found.append(Member(key=key, start=start, node=self._value()))
        return found

    def items(self) -> list[Node]:
        """Of the array that begins here."""
        self.at += 1
        found: list[Node] = []
        while self._more("]", bool(found)):
            found.append(self._value())
        return found

    def _skip(self) -> None:
        self.at = skip_gap(self.text, self.at)

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _unfit(self, what: str) -> UnfitText:
        return UnfitText(what, line=line_at(self.text, self.at))

    def _node(self, start: int, value: Json) -> Node:
        return Node(text=self.text, start=start, end=self.at, value=value)

    def _toil(self, work: int) -> None:
        self.work += work
        if self.work > MOST_WORK:
            raise self._unfit(self.too_much)

    def _value(self) -> Node:
        start, first = self.at, self._next()
        if first in ("{", "["):
            return self._container(first)
        self._toil(1)
        if first == '"':
            return self._node(start, self._string())
        found = _PLAIN.match(self.text, start)
        if found is None:
            raise self._unfit(f"{first!r} begins no JSON value" if first else "the JSON ends before its value does")
        self.at = found.end()
        try:
            return self._node(start, json.loads(found[0]))
        except ValueError:
            raise self._unfit("that number is too long") from None

    def _container(self, first: str) -> Node:
        start = self.at
        self._toil(1)
        try:
            value, self.at = _PLAIN_JSON.raw_decode(self.text, start)
        except json.JSONDecodeError as broken:
            # With comments, trailing commas, or a fault of which we say the line.
            self._toil((broken.pos - start) // _PIECE)
        except ValueError:
            self._toil((len(self.text) - start) // _PIECE)
        except RecursionError:
            pass  # So deep that it is refused below.
        else:
            return self._node(start, value)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._unfit(f"it is nested more than {MAX_DEPTH} deep")
        parts: Sequence[Member] | Sequence[Node]
        if first == "{":
            parts = members = self.members()
            value = {member.key: member.node.value for member in members}
        else:
            parts = items = self.items()
            value = [item.value for item in items]
        self.depth -= 1
        return Node(text=self.text, start=start, end=self.at, value=value, parts=parts)

    def _string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self._unfit("a JSON string begins here that does not end, or holds what none may hold")
        self.at = found.end()
        return str(json.loads(found[0]))

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
