"""Sessions of people's browsers: by what one was opened, how long it lasts, and the links that `am web` makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import PermissionDenied, Unavailable
from mcp_agent_mail.core.ids import AgentId, IssuedTokenId, WebSessionId
from mcp_agent_mail.core.roles import Role

IDLE = 8 * 3_600 * SECOND
"""A session that nobody has used for so long has ended."""
LIFETIME = 7 * 86_400 * SECOND
"""From sign-in, whatever it is used for."""
TOUCHED_EVERY = 60 * SECOND
"""So often at most it is written down that a session is in use."""
MAX_LIVE = 200
"""Of a store: for another one the one that was used least lately ends."""

LINK_LIFETIME = 60 * SECOND
MAX_LINKS = 20
"""Not yet used, at a time."""


class OpenedBy(StrEnum):
    """What a session was opened with. `link`: one that `am web` made, so the operator on the server's machine."""

    LINK = "link"
    OPERATOR = "operator"
    SERVER = "server"
    ISSUED = "issued"
    JWT = "jwt"


class SpentLink(PermissionDenied):
    """A link that was used, has expired, or never was."""


class TooManyLinks(Unavailable):
    """MAX_LINKS wait to be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionGrant:
    """As what somebody came in: what the token says that was shown. `server_token_hash` is of HTTP_BEARER_TOKEN where
    that was shown: with another one the session has ended. `expires_ts` is when the token itself does.
    """

    by: OpenedBy
    role: Role
    issued_token: IssuedTokenId | None = None
    issued_to: AgentId | None = None
    claimed_agents: tuple[str, ...] = ()
    server_token_hash: bytes | None = field(default=None, repr=False)
    expires_ts: Micros | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSession:
    """One that was opened, without its secret."""

    id: WebSessionId
    grant: SessionGrant
    created_ts: Micros
    used_ts: Micros

    @property
    def ends_ts(self) -> Micros:
        """When it ends if nobody uses it any more."""
        at = min(self.used_ts + IDLE, self.created_ts + LIFETIME)
        return Micros(at if self.grant.expires_ts is None else min(at, self.grant.expires_ts))

    def is_live(self, now: Micros) -> bool:
        return now < self.ends_ts
