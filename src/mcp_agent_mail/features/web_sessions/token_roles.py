"""What the tokens that sessions were opened with give today: a token that lost its role gives no session more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from mcp_agent_mail.core.ids import IssuedTokenId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.issued_tokens import IssuedToken
from mcp_agent_mail.domain.identity.web_sessions import OpenedBy, SessionGrant


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRoles:
    """`find_issued` knows the issued tokens in force. `server_token_hash` is of HTTP_BEARER_TOKEN, if there is one, and
    `server_role` what it gives. Without `has_roles` whoever comes in is a writer, but for the operator's own token.
    """

    find_issued: Callable[[IssuedTokenId], IssuedToken | None]
    server_token_hash: bytes | None = field(default=None, repr=False)
    server_role: Role = Role.WRITER
    has_roles: bool = True

    def role_of(self, grant: SessionGrant) -> Role | None:
        """What was granted, or less where the token gives less by now; None where it gives nothing. Of a JWT that is
        said as long as its judge is the same (`WebSessionService.jwt_judges`).
        """
        today = self._role_today(grant)
        return None if today is None else min(grant.role, today)

    def _role_today(self, grant: SessionGrant) -> Role | None:
        match grant.by:
            case OpenedBy.LINK | OpenedBy.OPERATOR:
                return Role.OPERATOR
            case OpenedBy.SERVER:
                is_same = self.server_token_hash is not None and grant.judged_by == self.server_token_hash
                return self._bounded(self.server_role) if is_same else None
            case OpenedBy.ISSUED:
                token = None if grant.issued_token is None else self.find_issued(grant.issued_token)
                return None if token is None else self._bounded(token.role)
            case OpenedBy.JWT:
                return self._bounded(grant.role)

    def _bounded(self, role: Role) -> Role:
        return role if self.has_roles else Role.WRITER
