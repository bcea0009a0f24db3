"""What a half-written argument may become: projects, agents and threads that the caller may see, newest first.

It looks at a bounded number of them, and a question that leads nowhere has no suggestions instead of an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.readership import require_to_read
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View

MAX_SUGGESTIONS = 100
LOOKED_AT = 1_000
"""Projects, or agents of one, that a beginning is compared with: the newest, or those active last."""


class CompletionKind(StrEnum):
    PROJECT = "project"
    SLUG = "slug"
    AGENT = "agent"
    THREAD = "thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggested:
    """At most MAX_SUGGESTIONS values, newest first; `has_more` when there are others."""

    values: tuple[str, ...] = ()
    has_more: bool = False


NOTHING = Suggested()


class SuggestionService:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def suggest(
        self, caller: Caller, asked: CompletionKind, beginning: str, project_key: str | None
    ) -> Suggested:
        """Letter case does not matter. Agents and threads are those of the project, or of the caller's own."""
        begins = beginning.strip().lower()
        try:
            return await self._store.read(lambda view: _LOOKS[asked](view, caller, begins, project_key))
        except AgentMailError:
            # An unknown project, or one that the caller may not read.
            return NOTHING


def _projects(view: View, _caller: Caller, begins: str, _project_key: str | None) -> Suggested:
    """By the path, its last part or the slug."""
    return _some(project.human_key for project in view.projects.newest(LOOKED_AT) if _is_meant(project, begins))


def _slugs(view: View, _caller: Caller, begins: str, _project_key: str | None) -> Suggested:
    return _some(project.slug for project in view.projects.newest(LOOKED_AT) if _is_meant(project, begins))


def _is_meant(project: Project, begins: str) -> bool:
    path = project.human_key.lower()
    return path.startswith(begins) or path.rpartition("/")[2].startswith(begins) or project.slug.startswith(begins)


def _agents(view: View, caller: Caller, begins: str, project_key: str | None) -> Suggested:
    project = _project(view, caller, project_key)
    if project is None:
        return NOTHING
    agents = view.agents.list_(project.id, limit=LOOKED_AT)
    return _some(agent.name for agent in agents if agent.name.lower().startswith(begins))


def _threads(view: View, caller: Caller, begins: str, project_key: str | None) -> Suggested:
    project = _project(view, caller, project_key)
    if project is None:
        return NOTHING
    require_to_read(caller, project, "Listing threads")
    return _some(thread for thread in view.messages.recent_threads(project.id) if thread.lower().startswith(begins))


def _project(view: View, caller: Caller, project_key: str | None) -> Project | None:
    if project_key is not None and project_key.strip():
        return require_project(view, project_key)
    return None if caller.project_id is None else view.projects.find(caller.project_id)


def _some(found: Iterable[str]) -> Suggested:
    values = list(found)
    return Suggested(values=tuple(values[:MAX_SUGGESTIONS]), has_more=len(values) > MAX_SUGGESTIONS)


_LOOKS: dict[CompletionKind, Callable[[View, Caller, str, str | None], Suggested]] = {
    CompletionKind.PROJECT: _projects,
    CompletionKind.SLUG: _slugs,
    CompletionKind.AGENT: _agents,
    CompletionKind.THREAD: _threads,
}
