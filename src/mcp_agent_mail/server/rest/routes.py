"""The table behind `/rest/v1`: which method and path stand for which tool or resource. A new row is all a route needs.

What a row says is all that is REST's own: arguments, results and refusals are those of the tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import Json

PREFIX = "/rest/v1/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """`from_path`: which key of the path is which of the tool's arguments. `never`: arguments that this route does not
    take, since they would contradict its path.
    """

    tool: str
    from_path: Mapping[str, str] = field(default_factory=dict)
    never: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRead:
    """`uri` as the resource is declared. `also`: further names for keys of its query."""

    uri: str
    from_path: Mapping[str, str] = field(default_factory=dict)
    also: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteAnswer:
    """What no tool does: `Rest` is given the function of this `name`, which checks its arguments itself.

    `arguments` is their JSON schema: of the query where the method is GET, else of the body; `headers` are those
    that it reads besides. What `is_stream` is text without an end, and is not asked for by HEAD.
    """

    name: str
    title: str
    description: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, Json] = field(default_factory=dict)
    media_type: str = "application/json"
    is_stream: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestRoute:
    """`path` is below `PREFIX`, its keys in braces."""

    method: Literal["GET", "POST"]
    path: str
    target: ToolCall | ResourceRead | RouteAnswer

    @property
    def shown(self) -> str:
        return f"{self.method} {PREFIX}{self.path}"

    @property
    def methods(self) -> tuple[str, ...]:
        """Those that it answers."""
        is_stream = isinstance(self.target, RouteAnswer) and self.target.is_stream
        return ("GET", "HEAD") if self.method == "GET" and not is_stream else (self.method,)

    def match(self, path: str) -> dict[str, str] | None:
        """The keys of a whole path that is this route's."""
        parts, segments = path.removeprefix(PREFIX).split("/"), self.path.split("/")
        if not path.startswith(PREFIX) or len(parts) != len(segments) or "" in parts:
            return None
        keys = {}
        for segment, part in zip(segments, parts, strict=True):
            if segment.startswith("{"):
                keys[segment[1:-1]] = part
            elif segment != part:
                return None
        return keys


OPENAPI = "openapi"
EVENTS = "events"
_OF_MESSAGE: Mapping[str, str] = {"id": "message_id"}
_NOWHERE: Mapping[str, str] = {}


def _get(path: str, tool: str, from_path: Mapping[str, str] = _NOWHERE) -> RestRoute:
    return RestRoute(method="GET", path=path, target=ToolCall(tool=tool, from_path=from_path))


def _post(path: str, tool: str, from_path: Mapping[str, str] = _NOWHERE, *, never: tuple[str, ...] = ()) -> RestRoute:
    return RestRoute(method="POST", path=path, target=ToolCall(tool=tool, from_path=from_path, never=never))


ROUTES: tuple[RestRoute, ...] = (
    _post("messages", "send_message"),
    _post("messages/{id}/reply", "reply_message", _OF_MESSAGE),
    _post("messages/{id}/read", "mark_message_read", _OF_MESSAGE, never=("message_ids",)),
    _post("messages/{id}/ack", "acknowledge_message", _OF_MESSAGE, never=("message_ids",)),
    _post("messages/{id}/withdraw", "withdraw_message", _OF_MESSAGE),
    RestRoute(
        method="GET",
        path="messages/{id}",
        target=ResourceRead(
            uri="resource://message/{message_id}{?project}", from_path=_OF_MESSAGE, also={"project_key": "project"}
        ),
    ),
    _get("messages/{id}/status", "message_status", _OF_MESSAGE),
    _get("inbox", "fetch_inbox"),
    _get("wait", "wait_for_messages"),
    _get("feed", "fetch_inbox_events"),
    _get("agents", "list_agents"),
    _get("search", "search_messages"),
    _post("reservations", "file_reservation_paths"),
    _post("reservations/renew", "renew_file_reservations"),
    _post("reservations/release", "release_file_reservations"),
    _post("heartbeat", "heartbeat"),
    _post("hooks/event", "hook_event"),
    _post("hooks/told", "hook_told"),
    _get("hooks/wait", "hook_wait"),
    RestRoute(
        method="GET",
        path=EVENTS,
        target=RouteAnswer(
            name=EVENTS,
            title="Events of an agent's mail",
            description="What happens to an agent's mail as server-sent events: from now on, or behind a cursor. "
            "`Last-Event-ID` beats `after`. Not for HEAD.",
            arguments={
                "type": "object",
                "properties": {
                    "project_key": {"type": "string"},
                    "agent_name": {"type": "string"},
                    "after": {"type": "integer", "minimum": 0},
                },
                "required": ["project_key", "agent_name"],
            },
            headers={"Last-Event-ID": {"type": "integer", "minimum": 0}},
            media_type="text/event-stream",
            is_stream=True,
        ),
    ),
    RestRoute(
        method="GET",
        path="openapi.json",
        target=RouteAnswer(
            name=OPENAPI,
            title="These routes, described",
            description="This description, OpenAPI 3.1.",
        ),
    ),
)
