"""Parameter rules: what a tool declares for each argument, and how loose input becomes that type.

A rule stands in the signature, `limit: Annotated[int, Count(1, 1000)] = 20`. It gives the JSON
schema (the one strict type) and converts what callers really send ("Lax inputs" of the contract:
`"5"` and `5.0` are 5, `"true"` is true, one value where a list is declared is a list of one, a
string holding a JSON array is that array). What it cannot convert is INVALID_INPUT, never a guess.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Literal, Protocol, get_args

from mcp_agent_mail.core.clock import Micros, parse_time
from mcp_agent_mail.core.errors import InvalidInput, listed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.mistakes.argument_hints import ids_in, means_all, text_in

IdentityPart = Literal["project", "caller"]
"""Of who is calling: where its project is, and which of the project's agents it is."""

IDENTITY_PARTS: tuple[IdentityPart, ...] = get_args(IdentityPart)
NamedThing = Literal["agent", "project"]

MAX_ID = 2**63 - 1
_LONGEST_NUMBER = 400
"""Characters of a number or a time written as text."""


class ParamType(Protocol):
    """One parameter's type. `convert` gets neither null nor, for optional ones, a blank string."""

    def schema(self) -> dict[str, Any]: ...

    def convert(self, name: str, value: object) -> object: ...


def _refuse(name: str, fact: str, *, hint: str = "", **data: object) -> InvalidInput:
    return InvalidInput(f"{name} {fact}.", hint=hint, data={"parameter": name, **data})


def _shown(value: object) -> str:
    """What came instead, for a message: short, and safe for a list nested a thousand deep."""
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return repr(value[:100] if isinstance(value, str) else value)[:100]


def _as_text(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _refuse(name, f"must be text, not {_shown(value)}", hint=f"Send {text_in(value)}.", expected="string")
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        text.encode()
    except UnicodeEncodeError as broken:
        raise _refuse(name, "holds a lone surrogate, which is no Unicode text", hint="Send valid UTF-8.") from broken
    return text


def _too_long(name: str, text: str, max_length: int) -> InvalidInput:
    return _refuse(
        name,
        f"has {len(text)} characters; at most {max_length} are accepted",
        hint="Shorten it: nothing is ever cut for you.",
        max_length=max_length,
    )


def _short(name: str, value: object) -> str:
    """Text that can be a number or a time. Raises ValueError for what is far too long to be one."""
    text = _as_text(name, value)
    if len(text) > _LONGEST_NUMBER:
        raise ValueError
    return text


@dataclass(frozen=True, slots=True)
class Text:
    """Text of at most `max_length` characters. Blank is refused unless `may_be_blank`.

    NUL is refused unless `raw` (bodies are kept byte for byte): it cannot stand in names, paths or queries.
    `stands_for`: which part of who calls it is, so that a connection may have said it; `names`: what is meant by it.
    """

    max_length: int = 4_000
    may_be_blank: bool = False
    raw: bool = False
    stands_for: IdentityPart | None = None
    names: NamedThing | None = None

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def convert(self, name: str, value: object) -> str:
        """The text as it came, outer blanks included; a number as JSON writes it. Nothing is ever cut: longer is
        refused. Raises InvalidInput.
        """
        text = _as_text(name, value)
        if not self.may_be_blank and not text.strip():
            raise _refuse(name, "is blank", hint=f"Give {name} a value.")
        if not self.raw and "\0" in text:
            raise _refuse(name, "holds a NUL character", hint="Remove it.")
        if len(text) > self.max_length:
            raise _too_long(name, text, self.max_length)
        return text


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words, ignoring case and outer blanks."""

    values: tuple[str, ...]

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.values)}

    def convert(self, name: str, value: object) -> str:
        """The word in small letters, as `values` must have it. Raises InvalidInput, which lists them all."""
        wanted = value.strip().lower() if isinstance(value, str) else value
        if isinstance(wanted, str) and wanted in self.values:
            return wanted
        raise _refuse(name, f"must be {listed(self.values)}, not {_shown(value)}", accepted=list(self.values))


def _as_integer(name: str, value: object, what: str = "whole number") -> int:
    if isinstance(value, bool):
        raise _refuse(name, f"must be a {what}, not a boolean", expected="integer")
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if (
        isinstance(value, str)
        and len(value) <= _LONGEST_NUMBER
        and re.fullmatch(r"\s*[+-]?[0-9]{1,40}(\.0{1,40})?\s*", value)
    ):
        return int(value.strip().split(".")[0])
    raise _refuse(name, f"must be a {what}, not {_shown(value)}", expected="integer")


@dataclass(frozen=True, slots=True)
class Count:
    """A whole number from `low` to `high`. More counts as `high`; less is refused."""

    low: int
    high: int

    def schema(self) -> dict[str, Any]:
        return {"type": "integer"}

    def _hint(self) -> str:
        return f"Send a whole number from {self.low} to {self.high}."

    def convert(self, name: str, value: object) -> int:
        """The number, at most `high`; `"5"`, `5.0` and `"5.0"` are 5, a boolean is none. Raises InvalidInput."""
        number = _as_integer(name, value)
        if number < self.low:
            fact = f"is {number}; the least accepted is {self.low}"
            raise _refuse(name, fact, hint=self._hint(), min=self.low, max=self.high)
        return min(number, self.high)


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds from 1 to `high`; beyond is refused, never cut. What is under `floor` counts as `floor`."""

    high: int
    floor: int = 60

    def schema(self) -> dict[str, Any]:
        return {"type": "integer"}

    def convert(self, name: str, value: object) -> int:
        """Seconds, at least `floor`; read as `Count` reads a number. Raises InvalidInput for less than 1 and for more
        than `high`.
        """
        seconds = _as_integer(name, value, "whole number of seconds")
        if not 1 <= seconds <= self.high:
            fact = f"is {seconds!s:.50}; accepted are 1 to {self.high} seconds"
            raise _refuse(name, fact, hint=f"Send 1 to {self.high}.", min=1, max=self.high)
        return max(self.floor, seconds)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number over zero. More than `high` counts as `high`."""

    high: float

    def schema(self) -> dict[str, Any]:
        return {"type": "number"}

    def convert(self, name: str, value: object) -> float:
        """The number, also from text, at most `high` (infinity too). Raises InvalidInput for zero, less, NaN and what
        is no number.
        """
        try:
            number = math.nan if isinstance(value, bool) else float(_short(name, value))
        except ValueError:
            number = math.nan
        if not number > 0:
            raise _refuse(name, f"must be a number over zero, not {_shown(value)}", expected="number", max=self.high)
        return min(number, self.high)


@dataclass(frozen=True, slots=True)
class Id:
    """A store-wide integer id; `low=0` where 0 means "from the beginning"."""

    low: int = 1

    def schema(self) -> dict[str, Any]:
        return {"type": "integer"}

    def convert(self, name: str, value: object) -> int:
        """The id, read as `Count` reads a number; whether anything has it is not asked. Raises InvalidInput outside
        `low` to MAX_ID.
        """
        number = _as_integer(name, value)
        if not self.low <= number <= MAX_ID:
            raise _refuse(name, f"is {number!s:.50}, which is no id", hint="Use an id that a tool returned.")
        return number


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false, also as the words "true" and "false".

    `left_out` is what leaving it out comes to, where a tool has to know that it was left out: its own default is None.
    `writes`: a call of a read-only tool changes something where it is true.
    """

    left_out: bool | None = None
    writes: bool = False

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"} if self.left_out is None else {"type": "boolean", "default": self.left_out}

    def convert(self, name: str, value: object) -> bool:
        """The words in any letter case and with outer blanks; 0, 1, yes and no are refused. Raises InvalidInput."""
        if isinstance(value, bool):
            return value
        word = value.strip().lower() if isinstance(value, str) else None
        if word in ("true", "false"):
            return word == "true"
        raise _refuse(name, f"must be true or false, not {_shown(value)}", accepted=[True, False])


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of texts; a single one is a list of one, and a string holding a JSON array is that array."""

    max_items: int = 500
    max_length: int = 1_024
    min_items: int = 0

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}}

    def convert(self, name: str, value: object) -> list[str]:
        """The items in their order, repeats included. Raises InvalidInput for too many or too few, or naming the first
        bad one by its index: NUL, blanks alone and more than `max_length` characters are refused.
        """
        items = _as_list(name, value, '["one", "two"]')
        if len(items) > self.max_items:
            raise _refuse(name, f"has {len(items)} items; at most {self.max_items} are accepted", max=self.max_items)
        if len(items) < self.min_items:
            raise _refuse(name, f"has {len(items)} items; at least {self.min_items} must be given", min=self.min_items)
        rule = Text(max_length=self.max_length)
        return [rule.convert(f"{name}[{index}]", item) for index, item in enumerate(items)]


@dataclass(frozen=True, slots=True)
class Ids:
    """A list of ids; a single one is a list of one, and a string holding a JSON array is that array. `for_all` is the
    hint for whoever writes `all`.
    """

    max_items: int = 1_000
    min_items: int = 0
    for_all: str = ""

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "integer"}}

    def convert(self, name: str, value: object) -> list[int]:
        """The ids in their order, repeats included. Raises InvalidInput for too many or too few, or naming the first
        bad one by its index.
        """
        if isinstance(value, str) and self.for_all and means_all(value):
            raise _refuse(name, f"is a list of ids, not {_shown(value)}", hint=self.for_all, expected="array")
        if isinstance(value, str) and (meant := ids_in(value)):
            hint = f"Send a JSON list: {name}={meant}."
            raise _refuse(name, "lists ids in one text", hint=hint, expected="array", did_you_mean=meant)
        items = _as_list(name, value, "[1, 2]")
        if len(items) > self.max_items:
            raise _refuse(name, f"has {len(items)} items; at most {self.max_items} are accepted", max=self.max_items)
        if len(items) < self.min_items:
            raise _refuse(name, f"has {len(items)} items; at least {self.min_items} must be given", min=self.min_items)
        rule = Id()
        return [rule.convert(f"{name}[{index}]", item) for index, item in enumerate(items)]


def _as_list(name: str, value: object, example: str) -> list[object]:
    if isinstance(value, dict):
        hint = f"Send a JSON list, like {example}."
        raise _refuse(name, "must be a list, not an object", hint=hint, expected="array")
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        return parsed if isinstance(parsed, list) else [value]
    return value if isinstance(value, list) else [value]


@dataclass(frozen=True, slots=True)
class Time:
    """A time as ISO 8601 or epoch seconds; converted to microseconds (`Micros`)."""

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def convert(self, name: str, value: object) -> Micros:
        """Microseconds since 1970 in UTC; a time without a zone is taken as UTC. Raises InvalidInput for what is no
        time, or lies outside the years that ISO 8601 can show.
        """
        try:
            return parse_time(_short(name, value))
        except ValueError as unreadable:
            raise _refuse(
                name,
                f"is no time: {_shown(value)}",
                hint="Send ISO 8601, like 2026-01-31T09:30:00Z, or epoch seconds.",
                accepted=["ISO 8601", "epoch seconds"],
            ) from unreadable


@dataclass(frozen=True, slots=True)
class Matching:
    """Text of at most `max_length` characters that `parse` accepts: the rule itself (names, topics) is `domain`'s.

    `unless`: where this parameter is given, a required text may be left out, for it follows from that.
    """

    parse: Callable[[str], str]
    max_length: int = 4_000
    unless: str | None = None

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def convert(self, name: str, value: object) -> str:
        """What `parse` makes of the text. Raises InvalidInput for what is no text or too long, and whatever `parse`
        raises.
        """
        text = _as_text(name, value)
        if len(text) > self.max_length:
            raise _too_long(name, text, self.max_length)
        return self.parse(text)


# --- What several tools are given -----------------------------------------------------------------

MAX_KEY_LENGTH = 1_100
"""A little more than a path may have: outer blanks, and the one message about length."""

PROJECT_KEY = Text(max_length=MAX_KEY_LENGTH, stands_for="project", names="project")
"""The project that a call is about."""

DIRECTORY = Text(max_length=MAX_KEY_LENGTH, names="project")
"""A directory that is to be a project, whatever the caller's own is."""

OTHER_PROJECT = Text(max_length=MAX_KEY_LENGTH, names="project")
"""The project of another agent than the one that calls."""

AGENT_NAME = Text(max_length=1_000, names="agent")
"""The rule of names itself is `domain.identity.names`, which says what is wrong with one."""

AGENT_ADDRESS = Text(max_length=1_100, names="agent")
"""Where `Name@project` may stand: a path and a name fit."""

CALLER_NAME = Text(max_length=1_100, stands_for="caller", names="agent")
"""The agent as which a call is made: never one that it is about, or that it looks for."""

PROGRAM = Text(max_length=128)
MODEL = Text(max_length=128)
TASK = Text(max_length=4_000)
NOTE = Text(max_length=1_000)
"""Why something is done, for whoever reads the log. Never blank where it is given."""

IDEMPOTENCY_KEY = Text(max_length=200)
LIMIT = Count(1, 1_000)
