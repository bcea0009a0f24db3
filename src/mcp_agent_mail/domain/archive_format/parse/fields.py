"""What a file of an archive says by key, as typed values: anything else than what rendering makes is `Unfit`.

An archive may be anybody's: nothing in it is taken on trust, neither its size nor its depth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Never, TypeVar

from mcp_agent_mail.core.clock import Micros, from_datetime
from mcp_agent_mail.core.ids import MOST_NUMBER
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.archive_format.json_text import compact

MAX_JSON_BYTES = 8 << 20
MAX_DEPTH = 64
_TIME = lazy_pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}\+00:00")
_SHOWN = 100

Choice = TypeVar("Choice", bound=StrEnum)


class Unfit(ValueError):
    """Not what rendering makes; the text says why."""


class Fields:
    """A JSON object. Each method gives the value of a key, or raises Unfit when it is missing or of another type."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def has(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str) -> str:
        value = self._value(key)
        return value if isinstance(value, str) else _wrong(key, value)

    def text_or_none(self, key: str) -> str | None:
        return None if self._value(key) is None else self.text(key)

    def number(self, key: str) -> int:
        """Neither negative nor above MOST_NUMBER: the next ones have to be numbers too."""
        value = self._value(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_NUMBER:
            return value
        return _wrong(key, value)

    def number_or_none(self, key: str) -> int | None:
        return None if self._value(key) is None else self.number(key)

    def flag(self, key: str) -> bool:
        value = self._value(key)
        return value if isinstance(value, bool) else _wrong(key, value)

    def time(self, key: str) -> Micros:
        """Only as `iso` writes it."""
        return time_of(key, self.text(key))

    def time_or_none(self, key: str) -> Micros | None:
        return None if self._value(key) is None else self.time(key)

    def choice(self, key: str, kind: type[Choice]) -> Choice:
        """One of the texts that `kind` lists."""
        text = self.text(key)
        if text not in kind.__members__.values():
            _wrong(key, text)
        return kind(text)

    def choice_or_none(self, key: str, kind: type[Choice]) -> Choice | None:
        return None if self._value(key) is None else self.choice(key, kind)

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self._value(key)
        return value if isinstance(value, dict) else _wrong(key, value)

    def mapping_or_none(self, key: str) -> Mapping[str, Any] | None:
        return None if self._value(key) is None else self.mapping(key)

    def fields(self, key: str) -> Fields:
        return Fields(self.mapping(key))

    def texts(self, key: str) -> list[str]:
        """A list of texts."""
        values = self._value(key)
        if isinstance(values, list) and all(isinstance(value, str) for value in values):
            return values
        return _wrong(key, values)

    def items(self, key: str) -> list[Fields]:
        """A list of objects."""
        values = self._value(key)
        if not isinstance(values, list):
            _wrong(key, values)
        return [Fields(value) if isinstance(value, dict) else _wrong(key, value) for value in values]

    def _value(self, key: str) -> object:
        if key not in self.values:
            raise Unfit(f"{key} is missing")
        return self.values[key]


def _wrong(key: str, value: object) -> Never:
    raise Unfit(f"{key} cannot be {value!r:.{_SHOWN}}")


def time_of(key: str, text: str) -> Micros:
    """The time that `iso` writes like this. Raises Unfit for any other way of writing one."""
    if not _TIME.fullmatch(text):
        _wrong(key, text)
    try:
        return from_datetime(datetime.fromisoformat(text))
    except ValueError as impossible:
        raise Unfit(f"{key} cannot be {text!r}") from impossible


def read_object(text: bytes) -> Fields:
    """A JSON object of bounded size and depth, without what JSON has not (NaN). Raises Unfit."""
    if len(text) > MAX_JSON_BYTES:
        raise Unfit(f"{len(text)} bytes of JSON are too many")
    try:
        value = json.loads(text.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError) as broken:
        raise Unfit(f"it is no JSON: {broken!s:.{_SHOWN}}") from broken
    if not isinstance(value, dict):
        raise Unfit("it is no JSON object")
    _require_shallow(value)
    return Fields(value)


def require_same(content: bytes, fields: Fields, rendered: bytes, write: Callable[[Mapping[str, Any]], bytes]) -> None:
    """`fields`, which `content` says, are what `rendered` says; keys that rendering does not know may stand beside it.
    `write` is how archives write an object of this kind. Raises Unfit.
    """
    if content == rendered:
        return
    like: dict[str, object] = json.loads(rendered)
    different = [key for key in like if compact(_known(fields.values.get(key), like[key])) != compact(like[key])]
    if different:
        raise Unfit(f"{', '.join(different)} cannot be what the rest says")
    if write(fields.values) != content:
        raise Unfit("it is not written as archives are")


def _known(value: object, like: object) -> object:
    """`value` without the keys that `like` has not."""
    if isinstance(value, dict) and isinstance(like, dict):
        return {key: _known(value[key], like[key]) for key in like if key in value}
    if isinstance(value, list) and isinstance(like, list) and len(value) == len(like):
        return [_known(one, other) for one, other in zip(value, like, strict=True)]
    return value


def _no_number(text: str) -> Never:
    raise Unfit(f"{text} is no number")


def _require_shallow(value: object) -> None:
    """Whatever goes through a value by calling itself can then be called."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for one in level for inner in _inner(one)]
        if not level:
            return
    raise Unfit(f"it is nested more than {MAX_DEPTH} deep")


def _inner(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
