"""What a page is made with: its request, the services, who calls; and how it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.web.request import PageAnswer, PageHost, PageRequest
from mcp_agent_mail.web.urls import HOME, project_url, with_query
from mcp_agent_mail.web.views.shell import NavLink, Shell

MOST_LISTED_PROJECTS = 12
"""In the navigation: those that were made last. The page of projects has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """Of one request. `keys` are those that its path has; `now` is one time for all that the page says."""

    request: PageRequest
    host: PageHost
    services: Services
    caller: Caller
    keys: dict[str, str]
    now: Micros

    async def shown(
        self,
        template: str,
        *,
        title: str,
        section: str = "",
        project: str | None = None,
        status: int = 200,
        headers: tuple[tuple[str, str], ...] = (),
        **model: Any,
    ) -> PageAnswer:
        """The page of this template: `model` are its own names, beside `shell`."""
        shell = await self.shell(title=title, section=section, project=project)
        body = await rendered(template, {"shell": shell, **model})
        return PageAnswer(status=status, body=body, headers=headers)

    async def bare(
        self, template: str, *, title: str, status: int = 200, headers: tuple[tuple[str, str], ...] = (), **model: Any
    ) -> PageAnswer:
        """A page without anything around it, for whoever has not come in: it says nothing of what is here."""
        body = await rendered(template, {"title": title, **model})
        return PageAnswer(status=status, body=body, headers=headers)

    async def shell(self, *, title: str, section: str, project: str | None) -> Shell:
        counts = await self.services.oversight.count(self.caller)
        known = await self.services.oversight.projects(self.caller, limit=MOST_LISTED_PROJECTS)
        asked = {name: values[-1] for name, values in self.request.query.items() if values}
        return Shell(
            title=title,
            section=section,
            links=_links(counts.needs, counts.unread),
            projects=[
                NavLink(section=one.slug, href=project_url(one.slug), label=one.name, icon="folder") for one in known
            ],
            role=self.request.role,
            is_signed_in=self.request.session is not None,
            path=with_query(self.request.path, asked),
            now=self.now,
            project=project,
            secret=self.request.secret,
        )


Page = Callable[[PageContext], Awaitable[PageAnswer]]

_RENDERERS = 2
_places = asyncio.Semaphore(_RENDERERS)


async def rendered(template: str, model: dict[str, Any]) -> bytes:
    """The page, made beside the event loop: calls of agents go on meanwhile. At most _RENDERERS at a time."""
    from mcp_agent_mail.web.render.environment import render  # noqa: PLC0415  # a server without visitors starts faster

    async with _places:
        return await asyncio.to_thread(render, template, model)


def _links(needs: int, unread: int) -> Sequence[NavLink]:
    return (
        NavLink(section="needs", href=with_query(HOME, {"box": "needs"}), label="Needs you", icon="bell", count=needs),
        NavLink(section="mail", href=HOME, label="Mail", icon="inbox", count=unread),
        NavLink(section="log", href=with_query(HOME, {"box": "log"}), label="Log", icon="scroll"),
        NavLink(section="now", href=f"{HOME}/now", label="Now", icon="activity"),
        NavLink(section="projects", href=f"{HOME}/projects", label="Projects", icon="folders"),
        NavLink(section="search", href=f"{HOME}/search", label="Search", icon="search"),
        NavLink(section="history", href=f"{HOME}/archive/activity", label="History", icon="history"),
        NavLink(section="operations", href=f"{HOME}/operations", label="Operations", icon="gauge"),
    )
