"""The project that the mail of a door's caller is in, and units of work there: tried with what is at hand, and run
again with what had to be made or drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mcp_agent_mail.domain.projects import Project, is_path
from mcp_agent_mail.features.doors.names import MissingNames, NameSupplies, NamingRule, draw_supplies
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.projects.lookup import find_known_path, require_project, require_writable
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View

T = TypeVar("T")

UnitAtHome = Callable[[Tx, Project, NameSupplies], T]


class Homes:
    """`project_key` is the path or the slug of the project of doors that know none; a path's is made at first use."""

    def __init__(
        self,
        store: Store,
        projects: ProjectService,
        *,
        project_key: str,
        rule: NamingRule,
        choose: Callable[[Sequence[str]], str],
    ) -> None:
        self._store = store
        self._projects = projects
        self._project_key = project_key
        self.rule = rule
        self._choose = choose

    def key_of(self, caller: DoorCaller | None) -> str:
        """The key of the project that the caller's mail is in."""
        return (caller and caller.project_key) or self._project_key

    async def write(
        self, caller: DoorCaller, unit: UnitAtHome[T], *, unheard: Callable[[Tx, T], object] | None = None
    ) -> T:
        """`Store.write` of a unit in the caller's project. Almost always that and its names are there: nobody looks
        before. Where they are not, the unit is undone and run again, with the project made and names drawn. Raises
        ProjectArchived, and what `ready` does.
        """
        key, supplies = self.key_of(caller), draw_supplies(self.rule, None)

        def with_what_is_there(tx: Tx) -> T:
            project = find_home(tx, key)
            if project is None:
                raise MissingNames
            return unit(tx, require_writable(project), supplies)

        try:
            return await self._store.write(with_what_is_there, unheard=unheard)
        except MissingNames:
            project, drawn = await self.ready(caller)
        return await self._store.write(lambda tx: unit(tx, require_writable(project), drawn), unheard=unheard)

    async def change(self, caller: DoorCaller | None, unit: Callable[[Tx, Project | None], T]) -> T:
        """`Store.write` of a unit that makes nothing: the project is None where there is none. Raises
        ProjectArchived.
        """
        key = self.key_of(caller)

        def with_what_is_there(tx: Tx) -> T:
            project = find_home(tx, key)
            return unit(tx, None if project is None else require_writable(project))

        return await self._store.write(with_what_is_there)

    async def ready(self, caller: DoorCaller) -> tuple[Project, NameSupplies]:
        """The project, made where it is not there yet, and names drawn for who is new in it. A project that the caller
        names is a directory that is there: raises what `ProjectService.require_directory` does.
        """
        key = self.key_of(caller)
        project = await self._store.read(lambda view: find_home(view, key))
        if project is None:
            if key != self._project_key:
                await self._projects.require_directory(key)
            project = (await self._projects.ensure(key)).project
        return project, draw_supplies(self.rule, self._choose)


def find_home(view: View, key: str) -> Project | None:
    """None for a directory that is no project yet. Raises UnknownProject for a slug that there is not."""
    return find_known_path(view, key) if is_path(key) else require_project(view, key)
