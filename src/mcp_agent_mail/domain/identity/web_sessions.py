"""Sessions of people's browsers: by what one was opened, how long it lasts, and the links that `am web` makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import PermissionDenied, Unavailable
from mcp_agent_mail.core.ids import AgentId, IssuedTokenId, WebSessionId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role

IDLE = 8 * 3_600 * SECOND
"""A session that nobody has used for so long has ended."""
LIFETIME = 7 * 86_400 * SECOND
"""From sign-in, whatever it is used for."""
TOUCHED_EVERY = 60 * SECOND
"""So often at most it is written down that a session is in use."""
MAX_LIVE = 200
"""Of a store: for another one the one of the lowest role that was used least lately ends, and none of a higher role."""
MAX_OF_ONE_TOKEN = 50
"""And of one token, or one subject of JWTs: for another one its own that was used least lately ends."""

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


class TooManySessions(Unavailable):
    """MAX_LIVE are signed in, all as more than the one who would be the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionGrant:
    """As what somebody came in: what the token says that was shown.

    `judged_by` is a hash of what found it good, 32 bytes: of HTTP_BEARER_TOKEN where that was shown, of a JWT the
    settings and the key. With another one the session has ended. `subject_hash` is of whom a JWT is, 32 bytes;
    `expires_ts` is when the token itself ends.
    """

    by: OpenedBy
    role: Role
    issued_token: IssuedTokenId | None = None
    issued_to: AgentId | None = None
    claimed_agents: tuple[str, ...] = ()
    judged_by: bytes | None = field(default=None, repr=False)
    subject_hash: bytes | None = None
    expires_ts: Micros | None = None

    @property
    def bearer(self) -> tuple[OpenedBy, IssuedTokenId | None, bytes | None]:
        """Whose it is, told from others: the operator's by whatever way, one token's, or one subject's of JWTs."""
        by = OpenedBy.OPERATOR if self.by is OpenedBy.LINK else self.by
        return by, self.issued_token, self.subject_hash


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


def displaced(live: Sequence[WebSession], grant: SessionGrant) -> list[WebSession]:
    """Those that end when one more is opened. `live` have the roles that count now. Raises TooManySessions."""
    own = _first_to_go([one for one in live if one.grant.bearer == grant.bearer])
    going = own[: max(0, len(own) - MAX_OF_ONE_TOKEN + 1)]
    left = [one for one in live if one not in going]
    others = _first_to_go([one for one in left if one.grant.role <= grant.role])
    surplus = max(0, len(left) - MAX_LIVE + 1)
    if len(others) < surplus:
        raise TooManySessions(
            f"{MAX_LIVE} browsers are signed in, all as more than {grant.role.word}.",
            hint="Sign out where nobody looks, or try again later.",
        )
    return [*going, *others[:surplus]]


def _first_to_go(sessions: Sequence[WebSession]) -> list[WebSession]:
    return sorted(sessions, key=lambda one: (one.grant.role, one.used_ts, one.id))
