"""Issued tokens as the book knows them."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import IssuedTokenId
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.issued_tokens import IssuedToken


def an_issued_token(number: IssuedTokenId, role: Role = Role.OPERATOR) -> IssuedToken:
    """In force, and nobody's."""
    return IssuedToken(
        id=number,
        role=role,
        agent_id=None,
        agent_name=None,
        project_id=None,
        project=None,
        note="",
        created_ts=Micros(0),
        expires_ts=None,
        revoked_ts=None,
        last_used_ts=None,
    )
