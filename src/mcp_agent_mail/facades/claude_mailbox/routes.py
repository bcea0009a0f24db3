"""The routes below `/v1`: each converts, calls one method, and shows what comes back."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

import orjson

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.doors.names import Door, UnfitWireName, UnknownWireName, wire_key
from mcp_agent_mail.facades.asgi import DoorRequest, PlainAnswer
from mcp_agent_mail.facades.claude_mailbox import answers
from mcp_agent_mail.facades.claude_mailbox.callers import (
    caller_of,
    header_name,
    read_query,
    require_header,
    require_name,
    require_owner,
    settles_itself,
)
from mcp_agent_mail.features.doors.mailbox_service import MailboxService
from mcp_agent_mail.features.doors.service import DoorService

WATCH_S = 25.0
MAX_WATCH_S = 300.0
MAX_TICKETS = 8


class NotGiven(InvalidInput):
    """What the route needs is not there, or is no text."""


class UnfitBody(InvalidInput):
    """The body is no JSON object."""


class UnfitWait(InvalidInput):
    """`timeout` is no number of seconds."""


Handler = Callable[[DoorRequest, bytes], Awaitable[PlainAnswer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """`has_body`: what it is sent must be JSON."""

    method: str
    handle: Handler
    has_body: bool = False


class MailboxRest:
    """Over the services of doors. `routes` are by path; those that end in a slash are followed by a mailbox's name."""

    def __init__(self, doors: DoorService, mailboxes: MailboxService) -> None:
        self._doors = doors
        self._mailboxes = mailboxes
        self.routes: Mapping[str, Route] = MappingProxyType(
            {
                "/v1/send": Route(method="POST", handle=self.send, has_body=True),
                "/v1/check-inbox": Route(method="POST", handle=self.check_inbox),
                "/v1/settle": Route(method="POST", handle=self.settle, has_body=True),
                "/v1/peek": Route(method="GET", handle=self.peek),
                "/v1/list": Route(method="GET", handle=self.list_),
                "/v1/rename": Route(method="POST", handle=self.rename, has_body=True),
                "/v1/watch": Route(method="GET", handle=self.watch),
                "/v1/mailbox": Route(method="DELETE", handle=self.delete),
                "/v1/mailboxes/": Route(method="DELETE", handle=self.delete),
            }
        )

    async def send(self, request: DoorRequest, body: bytes) -> PlainAnswer:
        """`{to, body}`, from the caller; a `from` beside them can only say the same."""
        require_header(request)
        given = _read_object(body)
        sender = require_owner(request, _find_text(given, "from"), "from")
        to, text = _require_text(given, "to"), _require_text(given, "body", may_be_blank=True)
        sent = await self._doors.send(caller_of(sender), require_name(to), text)
        return PlainAnswer(value=answers.show_sent(sent, sender=sender, to=to))

    async def check_inbox(self, request: DoorRequest, _: bytes) -> PlainAnswer:
        """All that waits for the caller, which `name` can only confirm; with `follow` also what waits in the mailbox
        that had this name and has another one now: a hook knows its session by the first name alone.
        """
        if settles_itself(request):
            return await self._check_claimed(request)
        caller = require_owner(request, _query_name(request), "name")
        messages = answers.show_checked(await self._mailboxes.check(caller_of(caller)))
        if (other := await self._followed(request, caller)) is not None:
            messages += answers.show_checked(await self._mailboxes.check(caller_of(other)))
        return PlainAnswer(value=messages)

    async def _check_claimed(self, request: DoorRequest) -> PlainAnswer:
        """As `check_inbox`, of a caller that settles by itself. Without a header `name` says who calls, as it does to
        the tool: it may be one that no header can hold.
        """
        named = _query_name(request)
        if named is not None and header_name(request) is None:
            caller = require_name(named)
        else:
            caller = require_owner(request, named, "name")
        checked = [await self._mailboxes.check(caller_of(caller), settles_itself=True)]
        if (other := await self._followed(request, caller)) is not None:
            checked.append(await self._mailboxes.check(caller_of(other), settles_itself=True))
        return PlainAnswer(value=answers.show_claimed(checked))

    async def settle(self, _: DoorRequest, body: bytes) -> PlainAnswer:
        """`{tickets, heard}`: what was given by these is read, or waits again. `settled` says of how many."""
        given = _read_object(body)
        tickets, is_heard = given.get("tickets"), given.get("heard", True)
        if not isinstance(tickets, list) or not 0 < len(tickets) <= MAX_TICKETS or not isinstance(is_heard, bool):
            raise NotGiven(f"tickets must be a list of 1 to {MAX_TICKETS} tickets, and heard true or false")
        settle = self._doors.settle_claimed if is_heard else self._doors.give_back_claimed
        return PlainAnswer(value={"settled": sum([await settle(one) for one in tickets if isinstance(one, str)])})

    async def peek(self, request: DoorRequest, _: bytes) -> PlainAnswer:
        """Of any mailbox; of the caller's own where `name` is left out. The caller is seen, and made unless it is the
        one that is looked at: that makes nothing.
        """
        caller, named = header_name(request), _query_name(request)
        name = named or caller
        if name is None:
            raise NotGiven("name is required", data={"parameter": "name"})
        looked_at = caller_of(require_name(name))
        if caller is not None and wire_key(caller) != wire_key(name):
            await self._mailboxes.touch(caller_of(caller))
        return PlainAnswer(value=answers.show_pending(await self._doors.pending(looked_at)))

    async def list_(self, request: DoorRequest, _: bytes) -> PlainAnswer:
        """Of whose mail waits for the caller too, where there is one."""
        name = header_name(request)
        caller = None if name is None else caller_of(name)
        listed = await self._mailboxes.list_(Door.CLAUDE_MAILBOX, caller)
        return PlainAnswer(value=answers.show_mailboxes(listed))

    async def rename(self, request: DoorRequest, body: bytes) -> PlainAnswer:
        """`{to}`, of the caller's mailbox; a `from` beside it can only say the same."""
        require_header(request)
        given = _read_object(body)
        caller = require_owner(request, _find_text(given, "from"), "from")
        to = given.get("to")
        if not isinstance(to, str) or not to.strip():
            raise UnfitWireName("to is required", data={"parameter": "to"})
        renamed = await self._mailboxes.rename(caller_of(caller), require_name(to))
        return PlainAnswer(value=answers.show_renamed(renamed))

    async def watch(self, request: DoorRequest, _: bytes) -> PlainAnswer:
        """Until the next message for the caller, or its mailbox's new name, `timeout` seconds at most."""
        caller = require_owner(request, _query_name(request), "name")
        seen = await self._mailboxes.watch(
            caller_of(caller), wait_s=_timeout(request), settles_itself=settles_itself(request)
        )
        return PlainAnswer(value=answers.show_watched(seen, caller))

    async def delete(self, request: DoorRequest, _: bytes) -> PlainAnswer:
        """The caller's session ends: its mailbox leaves lists, unless mail waits either way. With `follow` so does the
        one that had its name, first.
        """
        named = request.path.partition("/v1/mailboxes/")[2] or _query_name(request)
        caller = require_owner(request, named, "name")
        if (other := await self._followed(request, caller)) is not None:
            await self._mailboxes.retire(caller_of(other))
        try:
            await self._mailboxes.retire(caller_of(caller))
        except UnknownWireName:
            if other is None:  # Else nobody has taken the name that it had.
                raise
        return PlainAnswer(value={"name": caller, "deleted": True})

    async def _followed(self, request: DoorRequest, caller: str) -> str | None:
        """The other name, where the request asks for it."""
        return await self._mailboxes.find_renamed(caller_of(caller)) if read_query(request).get("follow") else None


def _read_object(body: bytes) -> JsonObject:
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as broken:
        raise UnfitBody("The body is no JSON", hint="Send one JSON object in UTF-8.") from broken
    if not isinstance(given, dict):
        raise UnfitBody("The body must be a JSON object", hint="Send its fields by name.")
    return given


def _require_text(given: JsonObject, name: str, *, may_be_blank: bool = False) -> str:
    text = given.get(name)
    if not isinstance(text, str) or not (text if may_be_blank else text.strip()):
        raise NotGiven(f"{name} is required", data={"parameter": name})
    return text


def _find_text(given: JsonObject, name: str) -> str | None:
    """Null, blank and left out are the same. Raises NotGiven for what is no text."""
    text = given.get(name)
    if text is not None and not isinstance(text, str):
        raise NotGiven(f"{name} must be text", data={"parameter": name})
    return text if text and text.strip() else None


def _query_name(request: DoorRequest) -> str | None:
    return read_query(request).get("name", "").strip() or None


def _timeout(request: DoorRequest) -> float:
    """Seconds, MAX_WATCH_S at most. Raises UnfitWait."""
    text = read_query(request).get("timeout", "").strip()
    try:
        seconds = float(text) if text else WATCH_S
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise UnfitWait("timeout must be a number of seconds", data={"parameter": "timeout"})
    return min(seconds, MAX_WATCH_S)
