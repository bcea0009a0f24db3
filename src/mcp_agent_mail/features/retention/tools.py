"""The tool that lets old mail go. The operator's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.params import PROJECT_KEY, Count, Flag
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.retention.service import PurgeRequest, RetentionService

MAX_AGE_DAYS = 36_500


def retention_tools(service: RetentionService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """The purge of old mail. Clients see the tool, and whoever is not the operator is refused."""

    async def purge_old_messages(
        project_key: Annotated[str, PROJECT_KEY],
        max_age_days: Annotated[int | None, Count(1, MAX_AGE_DAYS)] = None,
        dry_run: Annotated[bool, Flag()] = True,
    ) -> Json:
        """Replace bodies of old mail that all have read by tombstones, at most 10,000 per call; Git keeps them.
        Operator only.
        """
        request = PurgeRequest(project_key=project_key, max_age_days=max_age_days, dry_run=dry_run)
        purge = await service.purge(await current_caller(), request)
        return {
            "status": "dry_run" if purge.dry_run else "purged",
            "messages_affected": purge.messages_affected,
            "cutoff_date": iso(purge.cutoff),
            "max_age_days": purge.max_age_days,
        }

    return [
        tool(
            purge_old_messages,
            cluster="messaging",
            title="Purge old messages",
            destructive=True,
            idempotent=True,
        )
    ]
