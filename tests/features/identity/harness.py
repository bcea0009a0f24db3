"""A store with the tools and resources of projects and identity over it, wired as the server does, without HTTP."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Clock, Micros, system_clock
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.domain.project_identity import IdentityMode
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.identity.admission import NamingRules
from mcp_agent_mail.features.identity.callers import AuthRules
from mcp_agent_mail.features.identity.resources import identity_resources
from mcp_agent_mail.features.identity.service import IdentityService
from mcp_agent_mail.features.identity.tools import identity_tools
from mcp_agent_mail.features.identity.window_tools import window_tools
from mcp_agent_mail.features.identity.windows import WindowService
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.features.projects.path_resolution import ResolvingTables
from mcp_agent_mail.features.projects.resources import project_resources
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.features.projects.tools import project_tools
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.workspace.identity import WorkspaceIdentities
from tests.store_templates import blank_store

PROJECT = "/code/app"
PROFILE: dict[str, Any] = {"program": "tests", "model": "none"}
OPERATOR_TOKEN = "amo_operator"
NOBODY = Credentials(via="mcp")
OPERATOR = Credentials(via="rpc", bearer_token=OPERATOR_TOKEN)


class Ticking:
    """A clock that goes one second further each time it is asked."""

    def __init__(self, start: int = 1_800_000_000) -> None:
        self.now = Micros(start * SECOND)

    def __call__(self) -> Micros:
        self.now = Micros(self.now + SECOND)
        return self.now


@dataclass(frozen=True, kw_only=True)
class IdentityHarness:
    store: Store
    path: Path
    activity: Activity
    identity: IdentityService
    tools: ToolTable
    resources: ResourceTable

    async def call(self, tool: str, *, by: Credentials = NOBODY, **arguments: Any) -> Any:
        return await self.tools.run(tool, arguments, by)

    async def read(self, uri: str, *, by: Credentials = NOBODY) -> Any:
        return await self.resources.read(uri, by)

    async def register(self, name: str | None = None, *, by: Credentials = NOBODY, **arguments: Any) -> Any:
        given = {"project_key": PROJECT, "name": name, **PROFILE, **arguments}
        return await self.call("register_agent", by=by, **given)

    async def rows(self, sql: str, *values: Any) -> list[Any]:
        """What the database holds, over a connection of its own view."""
        return await self.store.read(lambda view: view.agents._connection.execute(sql, values).fetchall())


@asynccontextmanager
async def open_identity(
    folder: Path,
    *,
    auth: AgentAuth = AgentAuth.OPEN,
    enforcement: NameEnforcement = NameEnforcement.FREE,
    clock: Clock = system_clock,
    choose: Callable[[Sequence[str]], str] = secrets.choice,
    mode: IdentityMode = IdentityMode.DIR,
) -> AsyncIterator[IdentityHarness]:
    path = folder / "mail.sqlite3"
    path.parent.mkdir(exist_ok=True)
    identities = Identities(WorkspaceIdentities(), mode)
    if not path.exists():
        blank_store().lay(path)
    async with Store(path, clock=clock) as store, Activity(store, clock=clock, interval_s=600) as activity:
        projects = ProjectService(store, places=ArchivePlaces(projects_path=folder / "projects"), identities=identities)
        tables = ResolvingTables(store, identities)
        rules = AuthRules(auth=auth, operator_token=OPERATOR_TOKEN, bearer_must_open=True)
        new_names = NamingRules(enforcement=enforcement)
        identity = IdentityService(store, activity, rules=rules, new_names=new_names, clock=clock, choose=choose)
        yield IdentityHarness(
            store=store,
            path=path,
            activity=activity,
            identity=identity,
            tools=tables.tools(
                [
                    *project_tools(projects, identity.caller),
                    *identity_tools(identity, identity.caller),
                    *window_tools(WindowService(store, activity, clock=clock), identity.caller),
                ]
            ),
            resources=tables.resources(
                [*project_resources(projects, identity.caller), *identity_resources(identity, identity.caller)]
            ),
        )


def with_token(token: str) -> Credentials:
    return Credentials(via="mcp", agent_token=token)
