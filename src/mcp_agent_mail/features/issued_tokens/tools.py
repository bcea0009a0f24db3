"""The tools of issued tokens: the operator's alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.clock import Micros, iso, iso_or_none
from mcp_agent_mail.core.params import AGENT_NAME, LIMIT, MAX_KEY_LENGTH, Choice, Flag, Id, Text
from mcp_agent_mail.core.roles import ROLES_BY_WORD
from mcp_agent_mail.core.tools import Json, JsonObject, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.issued_tokens import LIFETIME, MAX_NOTE, IssuedToken
from mcp_agent_mail.features.issued_tokens.service import IssuedTokenService, TokenWish

PROJECT = Text(max_length=MAX_KEY_LENGTH)
"""Of the agent: never the one that a connection is about."""

ROLE = Choice(tuple(ROLES_BY_WORD))
EXPIRES = Text(max_length=50)
NOTE = Text(max_length=MAX_NOTE)


def issued_token_tools(service: IssuedTokenService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To issue, list and revoke tokens, for the operator by `/rpc` and the command line: MCP clients neither see nor
    run these tools.
    """

    async def create_issued_token(
        agent_name: Annotated[str | None, AGENT_NAME] = None,
        project_key: Annotated[str | None, PROJECT] = None,
        role: Annotated[str | None, ROLE] = None,
        expires: Annotated[str, EXPIRES] = LIFETIME,
        note: Annotated[str | None, NOTE] = None,
    ) -> Json:
        """A token that opens the server and, with an agent, proves it. Shown this once."""
        wish = TokenWish(expires=expires, role=role, agent=agent_name, project=project_key, note=note or "")
        issued = await service.create(await current_caller(), wish)
        return {"token": issued.text, **_show(issued.token, issued.token.created_ts)}

    async def list_issued_tokens(
        include_ended: Annotated[bool, Flag()] = False, limit: Annotated[int, LIMIT] = 1_000
    ) -> Json:
        """The issued tokens in force, newest first, without the tokens themselves; include_ended: the others too."""
        listing = await service.list_(await current_caller(), limit, with_ended=include_ended)
        return [_show(token, listing.at) for token in listing.tokens]

    async def revoke_issued_token(issued_token_id: Annotated[int, Id()]) -> Json:
        """End an issued token, from the next request on. Safe to repeat."""
        token = await service.revoke(await current_caller(), issued_token_id)
        return {"id": token.id, "revoked_ts": iso_or_none(token.revoked_ts)}

    return [
        tool(create_issued_token, cluster="identity", title="Issue a token", operator_only=True),
        tool(
            list_issued_tokens,
            cluster="identity",
            title="List issued tokens",
            read_only=True,
            idempotent=True,
            result_list=True,
            operator_only=True,
        ),
        tool(
            revoke_issued_token,
            cluster="identity",
            title="Revoke an issued token",
            destructive=True,
            idempotent=True,
            operator_only=True,
        ),
    ]


def _show(token: IssuedToken, now: Micros) -> JsonObject:
    status = "live" if token.is_live(now) else "expired" if token.revoked_ts is None else "revoked"
    return {
        "id": token.id,
        "status": status,
        "role": token.role.word,
        "agent": token.agent_name,
        "project": token.project,
        "note": token.note,
        "created_ts": iso(token.created_ts),
        "expires_ts": iso_or_none(token.expires_ts),
        "revoked_ts": iso_or_none(token.revoked_ts),
        "last_used_ts": iso_or_none(token.last_used_ts),
    }
