"""An answer for an agent's shell: one line of compact JSON, or TOON, of so many bytes at most.

What does not fit is left out item by item, from the end, and counted in `more`. Where the first item alone is too much,
its longest texts are cut, and `cut` says so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from mcp_agent_mail.core.escaping import visible, visible_json
from mcp_agent_mail.core.lazy.dataclass import dataclass

MAX_BYTES = 2_048
MOST_BYTES = 256 * 1024
"""Of an answer whose number of items was given."""
_CUT = "…"
_SHORTEST = 8

Style = Literal["json", "toon"]

# Plain JSON.
Json = Any
Item = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotAnswer:
    """Facts, and the list of `items` under `name` if the answer has one. `total`: how many there are, shown or not.
    `has_cursor`: where items are left out, the id of the last one leads on.
    """

    facts: Mapping[str, Json]
    name: str | None = None
    items: Sequence[Item] = field(default_factory=tuple)
    total: int = 0
    has_cursor: bool = False

    def with_first(self, count: int) -> Item:
        """As it is sent with so many of its items."""
        if self.name is None:
            return dict(self.facts)
        shown = list(self.items[:count])
        left = max(self.total, len(self.items)) - len(shown)
        if left <= 0:
            return {**self.facts, self.name: shown}
        cursor = {"next_after_id": shown[-1]["id"]} if self.has_cursor and shown else {}
        return {**self.facts, self.name: shown, "more": left, **cursor}


def fit(answer: RobotAnswer, style: Style, *, max_bytes: int = MAX_BYTES) -> str:
    """The text of an answer, its last line's end included, of `max_bytes` at most. At least one item is there."""
    low, high = min(1, len(answer.items)), len(answer.items)
    while low < high:
        middle = (low + high + 1) // 2
        if _size(encode(answer.with_first(middle), style)) <= max_bytes:
            low = middle
        else:
            high = middle - 1
    return fit_value(answer.with_first(low), style, max_bytes=max_bytes)


def fit_value(value: Item, style: Style, *, max_bytes: int = MAX_BYTES) -> str:
    """Likewise of an object whose longest texts may be cut."""
    text = encode(value, style)
    while (over := _size(text) - max_bytes) > 0:
        value = {**value, "cut": True}
        if not _cut_longest(value, over):
            break
        text = encode(value, style)
    return text


def encode(value: Item, style: Style) -> str:
    """The value as text that a terminal may show. Without UTF-8 there JSON is written in ASCII."""
    if style == "toon":
        # The server's own form of it; 60 ms, which only its users pay.
        from mcp_agent_mail.server.rendering.toon import to_toon

        return f"{visible(to_toon(value))}\n"
    is_ascii = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    return f"{visible_json(json.dumps(value, ensure_ascii=is_ascii, separators=(',', ':')))}\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _cut_longest(value: Item, over: int) -> bool:
    """Cut the longest text within by what is too much, as far as it goes; False where none is left to be cut."""
    longest = max(_places(value), key=lambda place: len(place[0][place[1]]), default=None)
    if longest is None:
        return False
    holder, key = longest
    text = holder[key]
    # A character may take six bytes, and the mark takes three.
    keep = max(_SHORTEST, len(text) - max(1, over // 6) - len(_CUT))
    holder[key] = text[:keep] + _CUT
    return True


def _places(value: Json) -> Iterator[tuple[Json, Any]]:
    """Where texts stand that can be cut."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in list(pairs):
        if isinstance(one, str) and len(one) > _SHORTEST + len(_CUT):
            yield value, key
        elif isinstance(one, dict | list):
            yield from _places(one)
