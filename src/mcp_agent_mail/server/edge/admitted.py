"""What is said of a request before it is answered: who was let in, and as what, or why it was not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, IssuedTokenId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.web_sessions import OpenedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRefusal:
    """A refusal below the tools. `retry_after_s`: the same request can succeed when they are over.
    `may_be_wrong`: nobody knows whether what was shown opens anything, so that it counts as what does not.
    """

    status: int
    detail: str
    may_be_wrong: bool = False
    headers: tuple[tuple[bytes, bytes], ...] = ()
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Who was let in, and as what. `bearer_is_spent`: the Authorization header held a token that opens this server, so
    that it is no agent's; `is_operators_own`: the one that the server makes at each start, which no issued one is.
    `payer` is whose rate the request counts against.

    `opened_by` is which kind of token that was, `issued_token` the number of one that was issued, `judged_by` and
    `subject_hash` what found a JWT good and whose it is, as hashes, `expires_ts` when the token ends by itself; None
    where there was none, or it does not say.

    `is_live` says whether the token still counts: what lasts longer than it ends with it. None where it is for good.
    """

    payer: str
    role: Role = Role.WRITER
    bearer_is_spent: bool = False
    is_operators_own: bool = False
    issued_to: AgentId | None = None
    claimed_agents: tuple[str, ...] = ()
    opened_by: OpenedBy | None = None
    issued_token: IssuedTokenId | None = None
    judged_by: bytes | None = field(default=None, repr=False)
    subject_hash: bytes | None = None
    expires_ts: Micros | None = None
    is_live: Callable[[], bool] | None = field(default=None, compare=False)

    @property
    def opener(self) -> str | None:
        """Whose token let the request in: a session of MCP that it opens serves its own alone. None without one."""
        return self.payer if self.bearer_is_spent else None
