"""Tokens that the operator issues for a machine, a scraper, a browser or an agent: what each is, and how long it
lasts.
"""

from __future__ import annotations

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound
from mcp_agent_mail.core.ids import AgentId, IssuedTokenId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.roles import ROLES_BY_WORD, Role

MAX_LIVE = 1_000
"""Of a store."""

MAX_KEPT = 10_000
"""Rows, with those that have ended: beyond it the first of those are forgotten."""

KEPT_AFTER_END = 90 * 86_400 * SECOND
"""So long a token that has ended is still listed."""

LIFETIME = "90d"
"""Unless said otherwise."""

NEVER = "never"
MIN_LIFETIME_S = 60
MAX_LIFETIME_S = 3_650 * 86_400

MAX_NOTE = 200

_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_LIFETIME = lazy_pattern(r"([0-9]{1,9})([smhd])")
_EXAMPLES = "Say how long it lasts, like 90d, 12h or 30m: 1m to 3650d, or never."


class UnknownIssuedToken(NotFound):
    """No issued token has this number."""


class TooManyIssuedTokens(Conflict):
    """MAX_LIVE are in force."""


class UnfitLifetime(InvalidInput):
    """No length of time, or one that is too short or too long."""


class UnfitRole(InvalidInput):
    """No role, or one that an agent's token cannot have."""


class UnfitAgent(InvalidInput):
    """An agent is one of a project: both are named, or neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIssuedToken:
    """`agent_id` is whom it proves besides. `expires_ts` is None for one that lasts until it is revoked."""

    token_hash: bytes
    role: Role
    agent_id: AgentId | None
    note: str
    expires_ts: Micros | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """A stored one, without the token itself.

    `agent_id` is whom it proves; the agent's name, `project_id` and `project`, the path of its project, are as they
    were when this was read, and decide nothing.
    """

    id: IssuedTokenId
    role: Role
    agent_id: AgentId | None
    agent_name: str | None
    project_id: ProjectId | None
    project: str | None
    note: str
    created_ts: Micros
    expires_ts: Micros | None
    revoked_ts: Micros | None
    last_used_ts: Micros | None

    def is_live(self, now: Micros) -> bool:
        """At the very instant at which it expires it has."""
        return self.revoked_ts is None and not self.has_expired(now)

    def has_expired(self, now: Micros) -> bool:
        return self.expires_ts is not None and self.expires_ts <= now


def read_lifetime(text: str) -> int | None:
    """Seconds, or None for `never`. Letter case and outer blanks do not count. Raises UnfitLifetime."""
    word = text.strip().lower()
    if word == NEVER:
        return None
    if (found := _LIFETIME.fullmatch(word)) is None:
        raise UnfitLifetime(f"{text!r:.50} is no length of time.", hint=_EXAMPLES, data={"parameter": "expires"})
    seconds = int(found[1]) * _UNITS_S[found[2]]
    if not MIN_LIFETIME_S <= seconds <= MAX_LIFETIME_S:
        raise UnfitLifetime(f"A token cannot last {word}.", hint=_EXAMPLES, data={"parameter": "expires"})
    return seconds


def choose_role(word: str | None, *, is_agents: bool) -> Role:
    """The role of that name; without one an agent's token is a writer's, and any other a reader's. Raises UnfitRole for
    no role, and for an agent's token that would be the operator's.
    """
    if word is None:
        return Role.WRITER if is_agents else Role.READER
    role = ROLES_BY_WORD.get(word.strip().lower())
    fit = [one.word for one in Role if not (is_agents and one is Role.OPERATOR)]
    if role is None:
        raise UnfitRole(
            f"{word!r:.50} is no role.", hint=f"Choose {', '.join(fit)}.", data={"parameter": "role", "accepted": fit}
        )
    if role.word not in fit:
        raise UnfitRole(
            "The token of an agent is never the operator's.",
            hint=f"Choose {' or '.join(fit)}, or issue one without an agent.",
            data={"parameter": "role", "accepted": fit},
        )
    return role
