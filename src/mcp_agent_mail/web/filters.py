"""The filter as people write it: `from:BlueLake is:unread words`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from mcp_agent_mail.core.clock import SECOND, Micros, parse_time
from mcp_agent_mail.core.errors import InvalidInput, PermissionDenied
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.messages import Importance

MAX_FILTER = 500
FILTERS = {
    "from": "from:BlueLake",
    "to": "to:Human",
    "project": "project:my-project",
    "thread": "thread:TKT-123",
    "topic": "topic:release",
    "importance": "importance:urgent",
    "is": "is:unread",
    "needs": "needs:ack",
    "before": "before:2026-05-01",
    "after": "after:7d",
}
"""Each with an example."""
_ALSO = {"since": "after"}
_OF_WORDS = ("subject", "body", "body_md")
"""What the search itself looks for in a part of the mail."""

_TERM = re.compile(r'"[^"]*"|(?<![^\s(])(?P<name>[A-Za-z_]+):(?!:|//|\s|$)(?:"(?P<quoted>[^"]*)"|(?P<plain>\S+))')
_BARE = re.compile(r"(?<!\S)(?P<name>[A-Za-z]+):(?=\s|$)")
_MINUS = re.compile(r'"[^"]*"|(?<![^\s(])-(?P<wanted>"[^"]*"|\w[^\s)]*)')
_Read = TypeVar("_Read")
_AGO = re.compile(r"(\d{1,4})([hdw])")
_UNIT_S = {"h": 3_600, "d": 86_400, "w": 7 * 86_400}


class UnfitFilter(InvalidInput):
    """A term of the filter with a value that it does not take."""


class OperatorsFilter(PermissionDenied):
    """What somebody has read who is not the one that asks."""

    def __init__(self) -> None:
        super().__init__(
            "is:unread and needs:ack ask for mail to Human, which is the operator's.",
            hint="Sign in: run `am web` on the server's machine.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFilter:
    """`words` are for the search. `strange` are those of them that look like filters, and are none, `minus` those that
    are written behind a `-` as if that excluded them. Of what is given twice `counting` is what counts. `begin_ts` and
    `end_ts` are between which times it was sent, the first one in.
    """

    sender: str | None = None
    recipient: str | None = None
    project: str | None = None
    thread_id: str | None = None
    topic: str | None = None
    importance: Importance | None = None
    is_unread: bool = False
    needs_ack: bool = False
    begin_ts: Micros | None = None
    end_ts: Micros | None = None
    words: str = ""
    strange: tuple[str, ...] = ()
    minus: str = ""
    counting: tuple[str, ...] = ()

    @property
    def is_of_person(self) -> bool:
        """Whether it asks what the person has read or owes, who is the operator."""
        return self.is_unread or self.needs_ack

    @property
    def notes(self) -> list[str]:
        """What is to be said of what does not count as it is written."""
        given = [f"Each filter counts once: of several the last does, {one}." for one in self.counting]
        return [one for one in (self._of_strange, *given, _of_minus(self.minus)) if one]

    @property
    def _of_strange(self) -> str:
        if not self.strange:
            return ""
        which = ", ".join(f"{one}:" for one in self.strange)
        they_are = "is no filter" if len(self.strange) == 1 else "are no filters"
        known = ", ".join(f"{one}:" for one in FILTERS)
        return f"{which} {they_are}, and looked for as words. Filters are {known}."


def read_filter(text: str, now: Micros) -> WrittenFilter:
    """`now` is what `7d` counts back from. Raises UnfitFilter."""
    if len(text) > MAX_FILTER:
        raise UnfitFilter(f"The filter has {len(text)} characters.", hint=f"At most {MAX_FILTER} are taken.")
    given, strange, counting = dict[str, str](), dict[str, None](), dict[str, str]()

    def take(found: re.Match[str]) -> str:
        name = _filter_name(found["name"] or "")
        value = found["quoted"] if found["quoted"] is not None else found["plain"]
        if name in FILTERS:
            value = _required(name, value.strip())
            if given.get(name, value) != value or name in counting:
                counting[name] = found[0]
            given[name] = value
            return " "
        if name and name not in _OF_WORDS:
            strange[name] = None
        return found[0]

    words = _TERM.sub(take, text)
    for bare in _BARE.finditer(words):
        if (name := _filter_name(bare["name"])) in FILTERS:
            _required(name, "")
    for name in ("is", "needs"):
        if name in given and given[name].lower() != FILTERS[name].partition(":")[2]:
            raise UnfitFilter(f"{name}:{given[name]:.50} is no filter.", hint=f"Write {FILTERS[name]}.")
    return WrittenFilter(
        sender=given.get("from"),
        recipient=given.get("to"),
        project=given.get("project"),
        thread_id=given.get("thread"),
        topic=given.get("topic"),
        importance=_if_given(given.get("importance"), _importance),
        is_unread="is" in given,
        needs_ack="needs" in given,
        begin_ts=_if_given(given.get("after"), lambda one: _time("after", one, now)),
        end_ts=_if_given(given.get("before"), lambda one: _time("before", one, now)),
        words=" ".join(words.split()),
        strange=tuple(strange),
        minus=next((one["wanted"] for one in _MINUS.finditer(words) if one["wanted"]), ""),
        counting=tuple(counting.values()),
    )


def _of_minus(wanted: str) -> str:
    """Of the first word behind a `-`, which is looked for like any. Before a part of the mail it does exclude."""
    name, colon, _ = wanted.partition(":")
    if not wanted or (colon and name.lower() in _OF_WORDS):
        return ""
    if colon and _filter_name(name) in FILTERS:
        return f"- is no operator, and no filter excludes: -{wanted} is looked for as words."
    return f"- is no operator: write NOT {wanted} behind the words that you look for."


def _filter_name(written: str) -> str:
    return _ALSO.get(written.lower(), written.lower())


def _required(name: str, value: str) -> str:
    if not value:
        raise UnfitFilter(f"{name}: has no value.", hint=f"Write it behind the colon: {FILTERS[name]}.")
    return value


def _if_given(text: str | None, read: Callable[[str], _Read]) -> _Read | None:
    return None if text is None else read(text)


def _importance(word: str) -> Importance:
    try:
        return Importance(word.lower())
    except ValueError:
        raise UnfitFilter(f"{word!r:.50} is no importance.", hint=f"Write one of {', '.join(Importance)}.") from None


def _time(name: str, text: str, now: Micros) -> Micros:
    """A day, a time, or how long ago: `2026-05-01`, `2026-05-01T10:00`, `7d`, `12h`, `2w`."""
    if ago := _AGO.fullmatch(text.lower()):
        return Micros(now - int(ago[1]) * _UNIT_S[ago[2]] * SECOND)
    try:
        if text.replace(".", "").lstrip("-").isdigit():
            raise ValueError
        return parse_time(text)
    except ValueError:
        raise UnfitFilter(
            f"{name}:{text:.50} is no time.", hint=f"Write a day, as {name}:2026-05-01, or how long ago, as {name}:7d."
        ) from None
