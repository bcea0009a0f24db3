"""What a running server records of itself, together: calls, queries where they are counted, and the log of both."""

from __future__ import annotations

from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.introspection.tool_log import ToolLog
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.store.engine.instrumentation import QueryFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a running server records; None is what the settings leave out."""

    usage: Usage
    queries: QueryFigures | None
    tool_log: ToolLog | None

    def start(self) -> None:
        if self.tool_log is not None:
            self.tool_log.start()

    def keepers(self) -> list[Keeper]:
        return [] if self.tool_log is None else [self.tool_log.keeper]

    async def stop(self) -> None:
        if self.tool_log is not None:
            await self.tool_log.stop()
