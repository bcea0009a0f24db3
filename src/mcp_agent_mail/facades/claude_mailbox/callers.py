"""Who calls: by the header `X-Mailbox`, beside what a request names."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from mcp_agent_mail.core.errors import InvalidInput, PermissionDenied
from mcp_agent_mail.domain.doors.names import Door, UnfitWireName, require_wire_name, wire_key
from mcp_agent_mail.facades.asgi import DoorRequest
from mcp_agent_mail.features.doors.requests import DoorCaller

HEADER = b"x-mailbox"
CLAIM_HEADER = b"x-mailbox-claim"
_ENCODED_WORD = re.compile(r"=\?.*\?=")


class CallerMissing(InvalidInput):
    """The request says of nobody that it is theirs."""


class CallerMismatch(PermissionDenied):
    """The header says another name than the request does."""


def caller_of(name: str) -> DoorCaller:
    return DoorCaller(door=Door.CLAUDE_MAILBOX, name=name)


def require_name(name: str) -> str:
    """The name of a mailbox as it is kept. Raises UnfitWireName in this door's words."""
    try:
        return require_wire_name(Door.CLAUDE_MAILBOX, name)
    except UnfitWireName as unfit:
        raise unfit.reworded(message="Invalid mailbox name.", hint=unfit.hint, data=unfit.data) from unfit


def header_name(request: DoorRequest) -> str | None:
    """What the header says; None without one, or a blank one. It is Latin-1, and no encoded word. Raises
    UnfitWireName.
    """
    name = request.headers.get(HEADER, b"").decode("latin-1").strip()
    if not name:
        return None
    if _ENCODED_WORD.search(name):
        raise UnfitWireName(
            "Invalid mailbox name.",
            hint="X-Mailbox is read as Latin-1. A name with other characters can only be an argument of a tool.",
            data={"name": name[:100]},
        )
    return require_name(name)


def require_header(request: DoorRequest) -> str:
    """Raises CallerMissing and UnfitWireName."""
    name = header_name(request)
    if name is None:
        raise CallerMissing("X-Mailbox header is required", data={"header": "X-Mailbox"})
    return name


def settles_itself(request: DoorRequest) -> bool:
    """Whether the caller says by `POST /v1/settle` that it has what it is given: as the command does."""
    return bool(request.headers.get(CLAIM_HEADER, b"").strip())


def require_owner(request: DoorRequest, named: str | None, what: str) -> str:
    """The header's name, which is also the one that the request names, where it names one. Raises CallerMissing,
    CallerMismatch and UnfitWireName.
    """
    caller = require_header(request)
    if named is not None and wire_key(named) != wire_key(caller):
        raise CallerMismatch(f"X-Mailbox does not match {what}", data={"header": caller, what: named[:100]})
    return caller


def read_query(request: DoorRequest) -> dict[str, str]:
    """The keys of the URL's query as forms are read: a plus is a blank."""
    return dict(parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True))
