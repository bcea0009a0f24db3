"""One project takes in another: what would move, and what stands in the way."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.projects import Project


class AdoptionRefused(Conflict):
    """The two projects cannot become one as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionPlan:
    """What one project has that the other would take over. `neighbours` are projects whose files name it."""

    agents: int
    messages: int
    live_leases: int
    contacts: int
    neighbours: tuple[ProjectId, ...]
    clashing_names: tuple[str, ...]
    clashing_threads: tuple[str, ...]

    @property
    def is_clear(self) -> bool:
        return not self.clashing_names and not self.clashing_threads


def require_clear(plan: AdoptionPlan, source: Project, target: Project) -> None:
    """Raise AdoptionRefused that names every clash (the first fifty of each)."""
    if plan.is_clear:
        return
    told = [
        *_told("agents", plan.clashing_names),
        *_told("threads", plan.clashing_threads),
    ]
    raise AdoptionRefused(
        f"{source.slug} and {target.slug} both have {' and '.join(told)}.",
        hint="Nothing was changed. An agent's name and a thread's id are kept for good, so such projects stay two; "
        "link them instead: request_contact between their agents, or one product for both.",
        data={"agents": list(plan.clashing_names), "threads": list(plan.clashing_threads)},
    )


def require_two(source: Project, target: Project) -> None:
    """Raise AdoptionRefused when both are the same project."""
    if source.id == target.id:
        raise AdoptionRefused(
            f"Both name the project {target.slug}: there is nothing to adopt.",
            hint="`am projects list` shows all. An adoption that is done leaves the old names to the project.",
        )


def _told(what: str, names: Sequence[str]) -> list[str]:
    return [f"{what} called {', '.join(names)}"] if names else []
