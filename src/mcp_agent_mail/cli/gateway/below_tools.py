"""What a server refuses before it looks at the call (`{"detail": ...}`), told by the settings that were sent."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from mcp_agent_mail.cli.exit_codes import WireError
from mcp_agent_mail.cli.gateway.asked_wait import whole_seconds_in
from mcp_agent_mail.core.errors import RateLimited
from mcp_agent_mail.core.ids import AGENT_TOKEN_PREFIX, ISSUED_TOKEN_PREFIX, OPERATOR_TOKEN_PREFIX

if TYPE_CHECKING:
    from mcp_agent_mail.cli.gateway.http import Server

_OPENS = "a token that was issued (am token create), or the server's HTTP_BEARER_TOKEN"
_NEEDED = f"Set AGENT_MAIL_TOKEN to {_OPENS}."
_MISPLACED = (
    f"AGENT_MAIL_AGENT_TOKEN holds a token that was issued ({ISSUED_TOKEN_PREFIX}…): put it into AGENT_MAIL_TOKEN."
)
_ENDED = "It was revoked, has expired, or is another server's: am token create issues a new one."
_AGENTS = (
    f"It holds an agent's registration_token: put that into AGENT_MAIL_AGENT_TOKEN. AGENT_MAIL_TOKEN takes {_OPENS}."
)
_UNFIT = f"It takes {_OPENS}."

_BELOW_THE_TOOLS: dict[int, tuple[str, str]] = {
    HTTPStatus.FORBIDDEN: ("PERMISSION_DENIED", ""),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("INVALID_INPUT", "Send less at once."),
    HTTPStatus.TOO_MANY_REQUESTS: ("RATE_LIMITED", "Wait a moment."),
}


def refused_below(status: int, detail: str, server: Server, *, again: str = "") -> WireError:
    """The refusal of a request that was sent to `server` with its tokens. `again`: its Retry-After, in seconds."""
    if status == HTTPStatus.UNAUTHORIZED:
        message, hint = _unopened(detail, server)
        return WireError({"type": "AUTHENTICATION_REQUIRED", "message": message, "hint": hint})
    kind, hint = _BELOW_THE_TOOLS.get(status, ("UNAVAILABLE", ""))
    seconds = whole_seconds_in(again)
    data = {} if seconds is None else {"retry_after_s": seconds}
    if data and kind == RateLimited.code:
        hint = f"Call again in {seconds} s."
    return WireError({"type": kind, "message": detail, "hint": hint, "data": data})


def _not_ours(server: Server) -> str:
    return (
        f"The server at {server.url} has another store than yours. Choose another port for yours: am config set-port "
        f"PORT. If that one is meant, set AGENT_MAIL_URL={server.url}, and AGENT_MAIL_TOKEN to a token issued there."
    )


def _unopened(detail: str, server: Server) -> tuple[str, str]:
    """The fact and the next step, where no token came along or one that opens nothing."""
    bearer = server.bearer_token
    if server.is_others:
        return (f"AGENT_MAIL_TOKEN is not valid at {server.url}." if bearer else detail), _not_ours(server)
    if not bearer:
        is_misplaced = (server.agent_token or "").startswith(ISSUED_TOKEN_PREFIX)
        return detail, _MISPLACED if is_misplaced else _NEEDED
    if bearer.startswith(OPERATOR_TOKEN_PREFIX):
        return detail, _NEEDED
    kinds = {ISSUED_TOKEN_PREFIX: _ENDED, AGENT_TOKEN_PREFIX: _AGENTS}
    hint = next((hint for prefix, hint in kinds.items() if bearer.startswith(prefix)), _UNFIT)
    return f"AGENT_MAIL_TOKEN is not valid at {server.url}.", hint
