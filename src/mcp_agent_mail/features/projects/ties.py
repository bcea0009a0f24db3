"""Directories that nobody has ensured but that PROJECT_IDENTITY_MODE ties to a project.

A call that names one is refused first, since it looks at names alone; then the directory is looked
at off the event loop, and if it is tied the call is made again with that known. What is found is not
stored, so that reads write nothing; it is remembered for some seconds. With the mode `dir` none of this exists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial

from mcp_agent_mail.core.resources import ResourceSpec, ResourceTable
from mcp_agent_mail.core.tools import Credentials, Json, ToolSpec, ToolTable
from mcp_agent_mail.domain.project_identity import IdentityMode, identify
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.features.projects.lookup import find_tied, tied_to
from mcp_agent_mail.store.database import Store

MAX_TIES = 3
"""Of one call: its project and those of addresses."""


class Ties:
    def __init__(self, store: Store, identities: Identities) -> None:
        self._store = store
        self._identities = identities

    async def run(self, call: Callable[[], Awaitable[Json]], more: int = MAX_TIES) -> Json:
        """What `call` returns or raises. It must change nothing when it raises UnknownProject."""
        try:
            return await call()
        except UnknownProject as unknown:
            path = unknown.data.get("path")
            if path is None or not more:
                raise
            facts = await self._identities.look(path)
            tie = identify(facts, self._identities.mode).tie
            project = None if tie is None else self._store.read(lambda view: find_tied(view, tie))
            if project is None:
                raise
        with tied_to(path, project.id):
            return await self.run(call, more - 1)


class TiedToolTable(ToolTable):
    def __init__(self, specs: Iterable[ToolSpec], ties: Ties) -> None:
        super().__init__(specs)
        self._ties = ties

    async def run(self, name: str, arguments: Mapping[str, Json], credentials: Credentials) -> Json:
        return await self._ties.run(partial(super().run, name, arguments, credentials))


class TiedResourceTable(ResourceTable):
    def __init__(self, specs: Iterable[ResourceSpec], ties: Ties) -> None:
        super().__init__(specs)
        self._ties = ties

    async def read(self, uri: str, credentials: Credentials) -> Json:
        return await self._ties.run(partial(super().read, uri, credentials))


class Tables:
    """Makes the tables of tools and resources: plain ones with the mode `dir`."""

    def __init__(self, store: Store, identities: Identities) -> None:
        self._ties = None if identities.mode is IdentityMode.DIR else Ties(store, identities)

    def tools(self, specs: Iterable[ToolSpec]) -> ToolTable:
        return ToolTable(specs) if self._ties is None else TiedToolTable(specs, self._ties)

    def resources(self, specs: Iterable[ResourceSpec]) -> ResourceTable:
        return ResourceTable(specs) if self._ties is None else TiedResourceTable(specs, self._ties)
