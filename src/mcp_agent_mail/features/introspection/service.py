"""What a server says of itself: its tools, how they are used, its locks, who may do what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import ToolSpec
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.readership import Readership, may_read, require_reader, require_to_read
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.introspection.guidance import capability
from mcp_agent_mail.features.introspection.locks import KnownLock, LockState, look_at
from mcp_agent_mail.features.introspection.recording import Recording
from mcp_agent_mail.features.introspection.usage import RecentCall, ToolFigures

MAX_ENTRIES = 1_000

FindProject = Callable[[str | ProjectId], Awaitable[Project | None]]
"""By its key, or by its id."""
FindAgent = Callable[[str, str | None], Awaitable[tuple[Agent, Project]]]
"""By name, and the project's key when it is given; raises when there is none or there are several."""

OWN_CALLS = frozenset({"mark_message_read", "acknowledge_message"})
"""Shown to the agent itself: to others they would count mail that nobody else knows of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """How projects and agents are found: given from outside, since the slices that know of them lie above this one."""

    find_project: FindProject
    find_agent: FindAgent


class IntrospectionService:
    """`tools` are the declared ones; those that MCP clients do not have are left out of all that is shown."""

    def __init__(
        self,
        recording: Recording,
        *,
        tools: Sequence[ToolSpec],
        directory: Directory,
        locks: Sequence[KnownLock],
        clock: Clock,
    ) -> None:
        self.recording = recording
        self.clock = clock
        self._tools = [spec for spec in tools if spec.is_over_mcp]
        self._directory = directory
        self._locks = locks

    def tools(self) -> list[ToolSpec]:
        """The tools that MCP clients may see."""
        return list(self._tools)

    def locks(self) -> list[LockState]:
        return look_at(self._locks, self.clock)

    async def capabilities(self, caller: Caller, agent: str, project: str | None) -> tuple[Project, Agent, list[str]]:
        """What the agent may do in its project; one that is retired, or whose project is archived, only reads."""
        found_agent, found_project = await self._directory.find_agent(agent, project)
        require_to_read(caller, found_project, "Looking at what an agent may do")
        able = {
            capability(spec)
            for spec in self.tools()
            if spec.read_only or not (found_agent.is_retired or found_project.is_archived)
        }
        return found_project, found_agent, sorted(able)

    async def recent(
        self, caller: Caller, window_s: int, *, agent: str | None, project: str | None
    ) -> list[tuple[RecentCall, Project | None]]:
        """Calls of the last `window_s` seconds, newest first, at most 1,000, that the caller may know of."""
        require_reader(caller, "Looking at calls")
        since = Micros(self.clock() - window_s * SECOND)
        wanted = None if project is None else await self._directory.find_project(project)
        named = agent.strip().lower() if agent is not None else None
        projects: dict[str | ProjectId, Project | None] = {}
        chosen: list[tuple[RecentCall, Project | None]] = []
        for call in self.recording.usage.recent(since):
            found = await self._project_of(call, projects)
            of_agent = named is None or (call.agent or "").lower() == named
            of_project = project is None or (found is not None and wanted is not None and found.id == wanted.id)
            if of_agent and of_project and self._may_know(caller, call, found):
                chosen.append((call, found))
                if len(chosen) == MAX_ENTRIES:
                    break
        return chosen

    def _may_know(self, caller: Caller, call: RecentCall, project: Project | None) -> bool:
        """What names no project that there is tells of none."""
        if project is None:
            return call.agent is None or caller.is_operator
        if call.tool not in OWN_CALLS:
            return may_read(caller, project, Readership.WORK)
        is_its_own = caller.agent_name is not None and caller.agent_name == call.agent and call.project_id is not None
        owners = (caller.agent_id,) if is_its_own and caller.agent_id and caller.project_id == project.id else ()
        return may_read(caller, project, Readership.OWN, owners)

    async def _project_of(self, call: RecentCall, known: dict[str | ProjectId, Project | None]) -> Project | None:
        key = call.project if call.project_id is None else call.project_id
        if key is None:
            return None
        if key not in known:
            known[key] = await self._directory.find_project(key)
        return known[key]

    def figures(self, caller: Caller) -> Callable[[str], ToolFigures]:
        """Of a tool, by its name. Own calls are the operator's to count: they would count blind copies for others."""
        require_reader(caller, "Looking at figures")
        usage = self.recording.usage
        return lambda tool: ToolFigures() if tool in OWN_CALLS and not caller.is_operator else usage.of(tool)
