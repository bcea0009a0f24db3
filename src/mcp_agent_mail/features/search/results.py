"""What a search answers."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.search.query import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What was found, seen from `project`. `is_asked`: the query has a word in it. `is_literal`: it was no expression,
    so that its words were looked for as they stand. `only_of` is the agent whose own mail alone was searched, since it
    may not read the project's. `no_thread` is the thread that was asked for and has no mail, `near` those that may have
    been meant.
    """

    project: Project
    hits: list[Hit]
    is_asked: bool = True
    is_literal: bool = False
    only_of: str | None = None
    no_thread: str | None = None
    near: Sequence[str] = ()
