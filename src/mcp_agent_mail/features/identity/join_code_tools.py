"""The tools of join codes: the operator's alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.clock import Micros, iso, iso_or_none
from mcp_agent_mail.core.params import LIMIT, PROJECT_KEY, Duration, Id
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.admission import LIFETIME_S, MAX_LIFETIME_S, MIN_LIFETIME_S, JoinCode
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.identity.join_codes import JoinCodeService

LIFETIME = Duration(MAX_LIFETIME_S, floor=MIN_LIFETIME_S)


def join_code_tools(service: JoinCodeService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To make, list and take back join codes, for the operator by `/rpc` and the command line: MCP clients neither see
    nor run these tools.
    """

    async def create_join_code(
        project_key: Annotated[str, PROJECT_KEY], lifetime_seconds: Annotated[int, LIFETIME] = LIFETIME_S
    ) -> Json:
        """A code that lets one new name into a project, shown this once."""
        invited = await service.create(await current_caller(), project_key, lifetime_seconds)
        return {
            "id": invited.code.id,
            "project": invited.project.human_key,
            "join_code": invited.text,
            "expires_ts": iso(invited.code.expires_ts),
        }

    async def list_join_codes(project_key: Annotated[str, PROJECT_KEY], limit: Annotated[int, LIMIT] = 200) -> Json:
        """The join codes of a project, newest first, without the codes themselves."""
        listing = await service.list_(await current_caller(), project_key, limit)
        return [_show(code, listing.at) for code in listing.codes]

    async def revoke_join_code(project_key: Annotated[str, PROJECT_KEY], join_code_id: Annotated[int, Id()]) -> Json:
        """Take back a join code that nobody has used."""
        code = await service.revoke(await current_caller(), project_key, join_code_id)
        return {"id": code.id, "revoked": True}

    return [
        tool(create_join_code, cluster="identity", title="Invite a new agent", operator_only=True),
        tool(
            list_join_codes,
            cluster="identity",
            title="List join codes",
            read_only=True,
            idempotent=True,
            result_list=True,
            operator_only=True,
        ),
        tool(revoke_join_code, cluster="identity", title="Take back a join code", destructive=True, operator_only=True),
    ]


def _show(code: JoinCode, now: Micros) -> Json:
    status = "open" if code.is_open(now) else "used" if code.used_by is not None else "expired"
    return {
        "id": code.id,
        "status": status,
        "created_ts": iso(code.created_ts),
        "expires_ts": iso(code.expires_ts),
        "used_ts": iso_or_none(code.used_ts),
        "used_by": code.used_by,
    }
