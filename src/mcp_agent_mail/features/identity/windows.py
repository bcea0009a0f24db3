"""Windows of a project: what a registration does with the client's window, and what people do with windows.

When a window was last used is noted in memory with every call from it (`Activity`), like agents' activity.
"""

from __future__ import annotations

from collections.abc import Collection

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import current_credentials
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, require_to_change_project
from mcp_agent_mail.domain.identity.names import require_fit
from mcp_agent_mail.domain.identity.readership import require_to_read
from mcp_agent_mail.domain.identity.windows import DEFAULT_TTL, UnknownWindow, Window, WindowNameTaken, find_window_uuid
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View

MAX_WINDOWS = 1_000
"""Of one answer; beyond it the ones used longest ago are left out."""

_KEPT = 2
"""Windows are forgotten for good when they were not used for so many times their time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowUse:
    """The window that a registration comes from, and how long an unused one lives."""

    uuid: str
    ttl: Micros = DEFAULT_TTL


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    window: Window
    old_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    window: Window
    at: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowListing:
    """As it is at `at`; each lives for `ttl` after its last use. The caller may see the ids of `own` alone."""

    windows: list[Window]
    at: Micros
    ttl: Micros
    own: Collection[str]


def find_live(view: View, project_id: ProjectId, use: WindowUse) -> Window | None:
    window = view.windows.find(project_id, use.uuid)
    return window if window is not None and window.is_live(view.now, use.ttl) else None


def keep_window(tx: Tx, agent: Agent, use: WindowUse, *, was_named: bool) -> Window:
    """The window that `agent` registered from, begun if it is new. `was_named`: the agent said its name.

    A live window keeps its name whatever the agent is called that registers from it by name: helpers do
    that too. Whoever left the name out goes by the window's, and the window by what came of it.
    """
    now = tx.now
    window = find_live(tx, agent.project_id, use)
    if window is None:
        tx.require_room()
        tx.windows.forget(agent.project_id, Micros(now - _KEPT * use.ttl))
        return tx.windows.add(agent.project_id, use.uuid, agent.name, now)
    if not was_named and window.display_name != agent.name:
        return tx.windows.rename(window.id, agent.name)
    return window


class WindowService:
    def __init__(self, store: Store, activity: Activity, *, clock: Clock) -> None:
        self._store = store
        self._activity = activity
        self._clock = clock
        self._ttl = activity.window_ttl

    async def list_(self, caller: Caller, project_key: str) -> WindowListing:
        """The live ones, last used first. Whoever shows a window's id is its owner: nobody else is told it."""
        now = self._clock()

        def look(view: View) -> list[Window]:
            project = require_project(view, project_key)
            require_to_read(caller, project, "Listing windows")
            return view.windows.list_live(project.id, since=self._since(now), limit=MAX_WINDOWS)

        windows = self._activity.windows_with_activity(await self._store.read(look))
        windows.sort(key=lambda window: (window.last_active_ts, window.id), reverse=True)
        shown = find_window_uuid(current_credentials().window_id)
        own = {window.uuid for window in windows if caller.is_operator or window.uuid == shown}
        return WindowListing(windows=windows, at=now, ttl=self._ttl, own=own)

    async def rename(self, caller: Caller, project_key: str, uuid: str, name: str) -> Renamed:
        """Give the window another name, under which the next agent that registers from it without a name comes. Agents
        keep theirs. Raises WindowNameTaken, UnknownWindow and UnfitName.
        """

        def unit(tx: Tx) -> Renamed:
            project = self._require_changeable(tx, caller, project_key)
            now = tx.now
            window = find_live(tx, project.id, WindowUse(uuid=uuid, ttl=self._ttl))
            if window is None:
                raise _unknown(project, uuid)
            wanted = require_fit(name)
            if wanted == window.display_name:
                return Renamed(window=window, old_name=wanted)
            taken = tx.windows.find_live_by_name(project.id, wanted, since=self._since(now), but=window.id)
            if taken is not None:
                raise WindowNameTaken(
                    f"Another window of {project.human_key} is named {taken.display_name}.",
                    hint="Choose another name.",
                    data={"parameter": "new_display_name", "display_name": taken.display_name},
                )
            return Renamed(window=tx.windows.rename(window.id, wanted), old_name=window.display_name)

        renamed = await self._store.write(unit)
        (window,) = self._activity.windows_with_activity([renamed.window])
        return Renamed(window=window, old_name=renamed.old_name)

    async def expire(self, caller: Caller, project_key: str, uuid: str) -> Expired:
        """End the window, so that its name is forgotten. The first end stands, also one that came by itself. Raises
        UnknownWindow.
        """

        def unit(tx: Tx) -> Expired:
            project = self._require_changeable(tx, caller, project_key)
            now = tx.now
            window = tx.windows.find(project.id, uuid)
            if window is None:
                raise _unknown(project, uuid)
            ended = tx.windows.expire(window.id, now) if window.is_live(now, self._ttl) else window
            return Expired(window=ended, at=ended.ends(self._ttl))

        return await self._store.write(unit)

    def _since(self, now: Micros) -> Micros:
        """Windows last used after it are live."""
        return Micros(now - self._ttl)

    def _require_changeable(self, tx: Tx, caller: Caller, project_key: str) -> Project:
        project = require_writable(require_project(tx, project_key))
        require_to_change_project(caller, project.id)
        return project


def _unknown(project: Project, uuid: str) -> UnknownWindow:
    return UnknownWindow(
        f"No live window of {project.human_key} has the id {uuid}.",
        hint="list_window_identities shows those that live; registering from the window begins it anew.",
        data={"parameter": "window_uuid"},
    )
