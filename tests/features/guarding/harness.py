"""The guard over a real store: its questions and reports, and its tools in a real repository."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.leases import LeaseKind, NewLease
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import stored_pattern
from mcp_agent_mail.features.guarding.install import GuardInstallation
from mcp_agent_mail.features.guarding.schemas import read_check
from mcp_agent_mail.features.guarding.service import GuardingService
from mcp_agent_mail.features.guarding.tools import guard_tools
from tests.features.identity.harness import NOBODY, PROJECT, IdentityHarness, open_identity
from tests.guard.code_repository import Code, make_code
from tests.seeded_store import SeededStore, open_seeded_store

SOMEONE = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)


STRANGER = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)


OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)


class GuardDesk:
    def __init__(self, seeded: SeededStore) -> None:
        self.seeded = seeded
        self.service = GuardingService(seeded.store, clock=seeded.clock)

    async def hold(self, agent: Agent, *patterns: str, exclusive: bool = True, ignore_case: bool = False) -> None:
        now = self.seeded.clock()
        new = [
            NewLease(
                project_id=agent.project_id,
                agent_id=agent.id,
                agent=agent.name,
                kind=LeaseKind.FILE,
                path_pattern=pattern,
                keys=keys_of(stored_pattern(pattern, ignore_case=ignore_case)),
                exclusive=exclusive,
                reason="why",
                expires_ts=Micros(now + 60 * SECOND),
                ignore_case=ignore_case,
            )
            for pattern in patterns
        ]
        await self.seeded.store.write(lambda tx: tx.leases.add_many(new, now))

    async def held(self, *paths: str, agent: str | None = "BlueLake", **more: str) -> list[tuple[str, str, bool]]:
        value = {"project": self.seeded.app.human_key, "agent": agent, "paths": list(paths), **more}
        answer = await self.service.check(SOMEONE, read_check(value))
        return [(held.path, held.holding.agent, held.is_own_too) for held in answer.held]

    def event(self, number: int, **more: Any) -> dict[str, Any]:
        return {
            "event_key": f"{number:032x}",
            "ts": "2026-01-01T00:00:00Z",
            "project": self.seeded.app.human_key,
            "action": "refused",
            "hook": "pre-commit",
            "agent": "BlueLake",
            "repository": "/code/app",
            "detail": {"note": f"n{number}"},
            **more,
        }


@asynccontextmanager
async def open_guarding(folder: Path) -> AsyncIterator[GuardDesk]:
    async with open_seeded_store(folder) as seeded:
        yield GuardDesk(seeded)


class Guards:
    def __init__(self, harness: IdentityHarness, code: Code) -> None:
        self.harness = harness
        self.code = code
        self._tools = ToolTable(guard_tools(GuardInstallation(harness.store), harness.identity.caller))

    async def install(self, *, by: Credentials = NOBODY, project: str = PROJECT, path: Path | None = None) -> Any:
        arguments = {"project_key": project, "code_repo_path": str(path or self.code.top)}
        return await self._tools.run("install_precommit_guard", arguments, by)

    async def uninstall(self, *, by: Credentials = NOBODY) -> Any:
        return await self._tools.run("uninstall_precommit_guard", {"code_repo_path": str(self.code.top)}, by)


@asynccontextmanager
async def open_guards(folder: Path, auth: AgentAuth = AgentAuth.OPEN) -> AsyncIterator[Guards]:
    async with open_identity(folder, auth=auth) as harness:
        for key in (PROJECT, "/code/other"):
            await harness.call("ensure_project", human_key=key)
        yield Guards(harness, make_code(folder))
