"""Directories by other names: through a symbolic link, or tied to a project by PROJECT_IDENTITY_MODE.

A call that names one is refused first, since it looks at names alone; then the directory is looked
at off the event loop, and the call is made again with what it is known. What is found is not
stored, so that reads write nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import partial

from mcp_agent_mail.core.arguments import ANY_WAY, CallWay
from mcp_agent_mail.core.resources import ResourceSpec, ResourceTable
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.tools import Credentials, Json, ToolSpec, ToolTable
from mcp_agent_mail.domain.project_identity import IdentityMode, identify
from mcp_agent_mail.domain.projects import Project, UnknownProject
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.features.projects.lookup import (
    called_by_people,
    find_known_path,
    find_tied,
    is_looked_at,
    tied_to,
    told_briefly,
)
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View

MAX_TIES = 3
"""Of one call: its project and those of addresses."""


class PathResolver:
    def __init__(self, store: Store, identities: Identities) -> None:
        self._store = store
        self._identities = identities

    async def run(self, call: Callable[[], Awaitable[Json]], more: int = MAX_TIES) -> Json:
        """What `call` returns or raises. It must change nothing when it raises UnknownProject."""
        if not more:
            return await call()
        try:
            with told_briefly():
                return await call()
        except UnknownProject as unknown:
            path = unknown.data.get("path")
            if path is None or is_looked_at(path):
                raise
        project = await self._find(path)
        with tied_to(path, None if project is None else project.id):
            return await self.run(call, more - 1)

    async def _find(self, path: str) -> Project | None:
        if self._identities.mode is IdentityMode.DIR:
            resolved, tie = await self._identities.resolved(path), None
        else:
            facts = await self._identities.look(path)
            resolved, tie = facts.path, identify(facts, self._identities.mode).tie

        def find(view: View) -> Project | None:
            return find_known_path(view, resolved) or (None if tie is None else find_tied(view, tie))

        return await self._store.read(find)


class ResolvingToolTable(ToolTable):
    def __init__(self, specs: Iterable[ToolSpec], resolver: PathResolver) -> None:
        super().__init__(specs)
        self._resolver = resolver

    async def run(
        self, name: str, arguments: Mapping[str, Json], credentials: Credentials, way: CallWay = ANY_WAY
    ) -> Json:
        with called_by_people() if _is_a_persons(credentials) else nullcontext():
            return await self._resolver.run(partial(super().run, name, arguments, credentials, way))


class ResolvingResourceTable(ResourceTable):
    def __init__(self, specs: Iterable[ResourceSpec], resolver: PathResolver) -> None:
        super().__init__(specs)
        self._resolver = resolver

    async def read(self, uri: str, credentials: Credentials) -> Json:
        with called_by_people() if _is_a_persons(credentials) else nullcontext():
            return await self._resolver.run(partial(super().read, uri, credentials))


def _is_a_persons(credentials: Credentials) -> bool:
    """Whether it is the operator's, and no agent's: typed by a person, by `am` or on a page."""
    is_operators = credentials.via == "local" or credentials.role is Role.OPERATOR
    return credentials.via != "mcp" and is_operators and credentials.agent_token is None


class ResolvingTables:
    """Makes tables of tools and resources whose calls may name a project by any directory of it."""

    def __init__(self, store: Store, identities: Identities) -> None:
        self.resolver = PathResolver(store, identities)

    def tools(self, specs: Iterable[ToolSpec]) -> ToolTable:
        return ResolvingToolTable(specs, self.resolver)

    def resources(self, specs: Iterable[ResourceSpec]) -> ResourceTable:
        return ResolvingResourceTable(specs, self.resolver)
