"""What the guard did in a code repository, as it reports it: checked here, whoever sent it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from mcp_agent_mail.core.clock import Micros, parse_time
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.guard.decision import GuardOutcome

HOOKS = ("pre-commit", "pre-push", "check")
MAX_DETAIL_BYTES = 12_000
MAX_EVENTS_AT_ONCE = 100
MAX_PATHS_TOLD = 20

_ACTIONS = tuple(action.value for action in GuardOutcome if action is not GuardOutcome.PASSED)
_KEY = re.compile(r"[0-9a-f]{32}")
_MAX_NAME = 64
_MAX_PATH = 4_096
_MAX_WORDS = 300
_MAX_NUMBER = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGuardEvent:
    """`event_key` is the guard's own random name for it, so that a repeat is stored once.

    `detail` is JSON text: `read_detail` reads it, since older ones hold whatever was reported.
    """

    event_key: str
    ts: Micros
    project: str
    action: GuardOutcome
    hook: str
    agent: str | None
    repository: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardEvent(NewGuardEvent):
    """As stored. `project_id` is None where no project had the key: `project` says what the guard took it for."""

    id: int
    project_id: ProjectId | None


def read_guard_event(value: object, now: Micros) -> NewGuardEvent:
    """The event that was reported, checked. A time still to come counts as now: a wrong clock must not stay newest for
    ever. Raises InvalidInput.
    """
    if not isinstance(value, Mapping):
        raise _unfit("an event is an object")
    key, hook = _text(value, "event_key", _MAX_NAME), _text(value, "hook", _MAX_NAME)
    action = _text(value, "action", _MAX_NAME)
    if not _KEY.fullmatch(key):
        raise _unfit("event_key is 32 hexadecimal digits")
    if hook not in HOOKS:
        raise _unfit(f"hook is one of {', '.join(HOOKS)}")
    if action not in _ACTIONS:
        raise _unfit(f"action is one of {', '.join(_ACTIONS)}")
    detail = value.get("detail")
    if not isinstance(detail, Mapping) or _size(detail) > MAX_DETAIL_BYTES:
        raise _unfit(f"detail is an object of at most {MAX_DETAIL_BYTES:,} bytes")
    try:
        ts = parse_time(_text(value, "ts", _MAX_NAME))
    except ValueError as unreadable:
        raise _unfit("ts is a time") from unreadable
    repository = unquote_to_bytes(_text(value, "repository", _MAX_PATH)).decode("utf-8", "backslashreplace")
    return NewGuardEvent(
        event_key=key,
        ts=min(ts, now),
        project=_text(value, "project", _MAX_PATH),
        action=GuardOutcome(action),
        hook=hook,
        agent=_text(value, "agent", _MAX_NAME) if value.get("agent") is not None else None,
        repository=repository,
        detail=json.dumps(_detail(detail)),
    )


def _size(detail: Mapping[str, Any]) -> int:
    try:
        return len(json.dumps(detail))
    except RecursionError:
        return MAX_DETAIL_BYTES + 1


def read_detail(text: str) -> dict[str, Any]:
    """What stands in a stored event's `detail`, in the one shape that there is, whatever was stored once."""
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        stored = None
    return _detail(stored)


def _detail(value: object) -> dict[str, Any]:
    """What an agent's guard reports: nothing of it counts but these fields, of these kinds, so long."""
    told: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    paths = told.get("paths")
    return {
        "paths": [_path(path) for path in (paths if isinstance(paths, list) else [])[:MAX_PATHS_TOLD]],
        "path_count": _number(told.get("path_count")),
        "source": _words(told.get("source")),
        "note": _words(told.get("note")),
    }


def _path(value: object) -> dict[str, Any]:
    told: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    return {
        "path": _words(told.get("path")),
        "holder": _words(told.get("holder")),
        "reservation_id": _number(told.get("reservation_id")),
        "path_pattern": _words(told.get("path_pattern")),
        "is_own_too": told.get("is_own_too") is True,
    }


def _words(value: object) -> str:
    # A lone surrogate cannot be stored, nor sent on.
    return value[:_MAX_WORDS].encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else ""


def _number(value: object) -> int:
    return min(max(value, 0), _MAX_NUMBER) if isinstance(value, int) else 0


def _text(value: Mapping[str, Any], name: str, max_length: int) -> str:
    text = value.get(name)
    if not isinstance(text, str) or len(text) > max_length:
        raise _unfit(f"{name} is text of at most {max_length} characters")
    # A lone surrogate cannot be stored, nor sent on.
    return text.encode("utf-8", "backslashreplace").decode()


def _unfit(why: str) -> InvalidInput:
    return InvalidInput(f"This is no guard event: {why}.", hint="docs/reference/http.md shows one.")
