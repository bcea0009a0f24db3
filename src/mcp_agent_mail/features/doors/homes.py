"""The project that the mail of a door's caller is in, and units of work there: tried with what is at hand, and run
again with what had to be made or drawn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.names import did_you_mean
from mcp_agent_mail.domain.projects import Project, UnknownProject, is_path
from mcp_agent_mail.features.doors.names import MissingNames, NameSupplies, NamingRule, draw_supplies
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.identity.door_callers import require_own_project
from mcp_agent_mail.features.projects.lookup import find_known_path, require_project, require_writable
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View

T = TypeVar("T")

logger = logging.getLogger("mcp_agent_mail.doors")

DOORS_WITHOUT_PROJECT = frozenset({Door.POSTAL, Door.CLAUDE_MAILBOX})
"""Whose mail is in FACADES_PROJECT."""


class NoDoorsProject(UnknownProject):
    """FACADES_PROJECT is a slug, and no project's."""


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

    def find(self, view: View, key: str, *, makes_known: bool = False) -> Project | None:
        """The project of what `key_of` gave: see `find_home`. Raises NoDoorsProject for that of the setting, and
        WrongToken where what let the caller in is for agents of other projects. A call that
        `makes_known` who comes may be the first of its agent there.
        """
        project = find_facades_project(view, key) if key == self._project_key else find_home(view, key)
        require_own_project(view, project, key, makes_known=makes_known)
        return project

    async def warn_of_none(self) -> None:
        """Say in the log that the setting names no project: until one has that slug, doors refuse everything."""
        try:
            await self._store.read(lambda view: find_facades_project(view, self._project_key))
        except NoDoorsProject as none:
            logger.warning(none.text)

    async def write(
        self, caller: DoorCaller, unit: UnitAtHome[T], *, unheard: Callable[[Tx, T], object] | None = None
    ) -> T:
        """`Store.write` of a unit in the caller's project. Almost always that and its names are there: nobody looks
        before. Where they are not, the unit is undone and run again, with the project made and names drawn. Raises
        ProjectArchived, and what `find` and `ready` do.
        """
        key, supplies = self.key_of(caller), draw_supplies(self.rule, None)

        def with_what_is_there(tx: Tx) -> T:
            project = self.find(tx, key, makes_known=True)
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
        ProjectArchived, and what `find` does.
        """
        key = self.key_of(caller)

        def with_what_is_there(tx: Tx) -> T:
            project = self.find(tx, key)
            return unit(tx, None if project is None else require_writable(project))

        return await self._store.write(with_what_is_there)

    async def ready(self, caller: DoorCaller) -> tuple[Project, NameSupplies]:
        """The project, made where it is not there yet, and names drawn for who is new in it. A project that the caller
        names is a directory that is there: raises what `ProjectService.require_directory` does.
        """
        key = self.key_of(caller)
        project = await self._store.read(lambda view: self.find(view, key, makes_known=True))
        if project is None:
            if key != self._project_key:
                await self._projects.require_directory(key)
            project = (await self._projects.ensure(key)).project
        return project, draw_supplies(self.rule, self._choose)


def find_facades_project(view: View, key: str) -> Project | None:
    """`find_home` of what the setting names. Raises NoDoorsProject."""
    try:
        return find_home(view, key)
    except UnknownProject as unknown:
        near = unknown.data.get("nearest", [])
        raise NoDoorsProject(
            f"FACADES_PROJECT names no project: {key!r:.200}.",
            hint=f"{did_you_mean(near)}Let the operator set it to a path, or to a slug that am projects list shows, "
            "and start the server anew.",
            data={"setting": "FACADES_PROJECT", "nearest": near},
        ) from unknown


def find_home(view: View, key: str) -> Project | None:
    """None for a directory that is no project yet. Raises UnknownProject for a slug that there is not."""
    return find_known_path(view, key) if is_path(key) else require_project(view, key)
