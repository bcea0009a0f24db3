"""What the guard asks and is told, as plain JSON. Paths travel percent-encoded: file names are bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.guard.decision import HeldPath
from mcp_agent_mail.domain.guard.events import MAX_EVENTS_AT_ONCE, GuardEvent, read_detail

MAX_PATHS = 5_000
MAX_WEIGHT = 16 * 1024 * 1024
"""Of all paths together: 5,000 of 300 characters in ten folders are 16.5 million."""
_MAX_PATH = 4 * 4_096
_MAX_NAME = 256
_MAX_KEY = 4_096
_MAX_REASON = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """`agent` was named by the committer's settings; `author` is Git's, and counts if an agent has that name.

    `paths` are as they were sent: percent-encoded, each once.
    """

    project: str
    agent: str | None
    author: str | None
    paths: Sequence[str]

    @property
    def weight(self) -> int:
        """Of each path its length as often as it has folders: what naming all the folders above it costs."""
        return sum(len(text) * (1 + text.count("/") + text.upper().count("%2F")) for text in self.paths)

    def decoded(self) -> dict[str, str]:
        """What was sent, and the path it stands for, relative to the project's root."""
        return {text: unquote_to_bytes(text).decode("utf-8", "surrogateescape") for text in self.paths}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnswer:
    """`sent` says for each held path how it was asked for. `nearest`: of a named `agent` that is none of the project's
    (`is_agent_known` is False), whom it may mean.
    """

    agent: str | None
    held: Sequence[HeldPath]
    sent: Mapping[str, str]
    is_agent_known: bool = True
    nearest: Sequence[str] = ()


# Any: a body as it came over the wire.
def read_check(value: Mapping[str, Any]) -> CheckRequest:
    """The check that a guard asks for, from the body of its request. Raises InvalidInput."""
    sent = value.get("paths")
    if not isinstance(sent, list) or len(sent) > MAX_PATHS:
        raise _unfit(f"paths is a list of at most {MAX_PATHS:,}")
    for text in sent:
        if not isinstance(text, str) or not text or len(text) > _MAX_PATH:
            raise _unfit("a path is a percent-encoded text")
    project = _text(value, "project", _MAX_KEY)
    if project is None:
        raise _unfit("project is a path or slug")
    request = CheckRequest(
        project=project,
        agent=_text(value, "agent", _MAX_NAME),
        author=_text(value, "author", _MAX_NAME),
        paths=list(dict.fromkeys(sent)),
    )
    if request.weight > MAX_WEIGHT:
        raise InvalidInput(
            f"These paths are too long and too deep to be looked up together: {request.weight:,}, where a path counts "
            f"its length for each of its folders and once more. At most {MAX_WEIGHT:,} are looked up at once.",
            hint="Check fewer paths at once.",
            data={"parameter": "paths"},
        )
    return request


# Any: as above.
def read_events(value: Mapping[str, Any]) -> list[Any]:
    """The events that a guard reports, each still unread, at most MAX_EVENTS_AT_ONCE. Raises InvalidInput."""
    events = value.get("events")
    if not isinstance(events, list) or len(events) > MAX_EVENTS_AT_ONCE:
        raise _unfit(f"events is a list of at most {MAX_EVENTS_AT_ONCE}")
    return events


def _text(value: Mapping[str, Any], name: str, max_length: int) -> str | None:
    text = value.get(name)
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > max_length:
        raise _unfit(f"{name} is text of at most {max_length:,} characters")
    return text.strip() or None


def _unfit(why: str) -> InvalidInput:
    return InvalidInput(f"This is no question of the guard: {why}.", hint="docs/reference/http.md shows one.")


def check_value(answer: CheckAnswer) -> dict[str, Json]:
    """The body of the answer to a guard's check. Each path is percent-encoded as it was asked for; of a holder's reason
    there are at most 200 characters.
    """
    held = [
        {"path": answer.sent[held.path], "is_own_too": held.is_own_too, "holder": _holder(held)} for held in answer.held
    ]
    return {
        "agent": answer.agent,
        "agent_known": answer.is_agent_known,
        "nearest": list(answer.nearest),
        "held": held,
        "held_count": len(held),
    }


def _holder(held: HeldPath) -> dict[str, Json]:
    holding = held.holding
    return {
        "id": holding.id,
        "agent": holding.agent,
        "path_pattern": holding.path_pattern,
        "exclusive": holding.exclusive,
        "reason": holding.reason[:_MAX_REASON],
        "expires_ts": iso(holding.expires_ts),
    }


def event_value(event: GuardEvent) -> dict[str, Json]:
    """Who, what and when are the store's; what the guard reports besides is data, and stands in fields of its own."""
    return {
        **read_detail(event.detail),
        "id": event.id,
        "ts": iso(event.ts),
        "action": event.action.value,
        "hook": event.hook,
        "agent": event.agent,
        "project": event.project,
        "repository": event.repository,
    }
