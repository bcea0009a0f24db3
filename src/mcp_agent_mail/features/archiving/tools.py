"""The tools of this slice: for the operator alone, over `/rpc` and in process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated

from mcp_agent_mail.core.params import Text
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.archive_format.months import require_month
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.archiving.service import ArchivingService


def archiving_tools(service: ArchivingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """The tool that brings a month back, for the operator by `/rpc` and the command line: MCP clients neither see nor
    run it.
    """

    async def checkout_archive_month(
        project_slug: Annotated[str, Text(max_length=200)], month: Annotated[str, Text(max_length=20)]
    ) -> Json:
        """Bring a month (YYYY-MM) back into the work tree of a project's archive. Operator only."""
        return asdict(await service.check_out(await current_caller(), project_slug, require_month(month)))

    return [
        tool(
            checkout_archive_month,
            cluster="infrastructure",
            title="Bring a month back into an archive's work tree",
            idempotent=True,
            operator_only=True,
        )
    ]
