"""What a page is made with: its request, the services, who calls; and how it is shown."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.concurrency.turns import TurnBounds, Turns
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.web_sessions import SessionGrant
from mcp_agent_mail.features.oversight.needs import NeedCounts
from mcp_agent_mail.web.addresses import HOME, project_url, with_query
from mcp_agent_mail.web.request import PageAnswer, PageHost, PageRequest
from mcp_agent_mail.web.views.frame import Frame, PageLink

MOST_LISTED_PROJECTS = 12
"""In the navigation: those that were made last. The page of projects has all."""
MOST_WAITING = 16
"""Pages of one payer that wait for their turn."""
_BOUNDS = TurnBounds(places=2, places_each=1, waiting_each=MOST_WAITING, waiting=200, within_s=30.0)
_SMALL = frozenset({"error.html", "refused.html", "sign_in.html"})
"""They show no body, and stand in no line."""


class PagePlaces:
    """Makes pages beside the event loop: calls of agents go on meanwhile. Payers take turns."""

    def __init__(self) -> None:
        self._turns = Turns("pages", _BOUNDS)

    async def made(
        self,
        template: str,
        model: Mapping[str, object],
        has_left: Callable[[], bool] = lambda: False,
        *,
        payer: str | None = None,
    ) -> bytes:
        """Empty for whoever has left while others were served. Raises TooMuchAtOnce."""
        # A server without visitors starts faster.
        from mcp_agent_mail.web.render.environment import render  # noqa: PLC0415

        if template in _SMALL:
            return await computed(lambda: render(template, model))
        async with self._turns.turn(payer or ""):
            return b"" if has_left() else await computed(lambda: render(template, model))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """Of one request. `keys` are those that its path has; `now` is one time for all that the page says.
    `after` is the newest event before it was begun: a page that hears what happens behind it misses nothing.
    """

    request: PageRequest
    host: PageHost
    places: PagePlaces
    services: Services
    caller: Caller
    keys: dict[str, str]
    now: Micros
    after: str

    async def shown(
        self,
        template: str,
        model: Mapping[str, object],
        *,
        title: str,
        section: str = "",
        project: str | None = None,
        status: int = 200,
    ) -> PageAnswer:
        """The page of this template: `model` are its own names, beside `frame`."""
        frame = await self._frame(title=title, section=section, project=project)
        return PageAnswer(
            status=status,
            body=await self.places.made(template, {"frame": frame, **model}, self.host.has_left, payer=self.host.payer),
        )

    async def _frame(self, *, title: str, section: str, project: str | None) -> Frame:
        counts = await self.services.pages.oversight.count(self.caller)
        known = await self.services.pages.oversight.projects(limit=MOST_LISTED_PROJECTS)
        names = {one.slug: one.name for one in known}
        if project is not None and project not in names:
            names[project] = (await self.services.pages.oversight.project(project)).name
        writing = project
        if writing is None and self.request.session is not None and self.caller.is_operator:
            writing = await self.services.pages.oversight.newest_place()
        asked = {name: values[-1] for name, values in self.request.query.items() if values}
        return Frame(
            title=title,
            section=section,
            links=_links(counts, project),
            projects=[
                PageLink(section=one.slug, href=project_url(one.slug), label=one.name, icon="folder") for one in known
            ],
            # A token may give a role and be for agents: then it is these that look, and no operator.
            role=self.request.role if self.caller.is_operator else min(self.request.role, Role.WRITER),
            is_signed_in=self.request.session is not None,
            path=with_query(self.request.path, asked),
            now=self.now,
            names=names,
            after=self.after,
            project=project,
            writing=writing or (known[0].slug if known else None),
            bearer="" if self.request.session is None else _mark_of(self.request.session.grant),
            secret=self.request.secret,
        )


def _mark_of(grant: SessionGrant) -> str:
    """The same for all sessions of one bearer; 16 signs of which nothing can be read."""
    return hashlib.sha256(repr(grant.bearer).encode()).hexdigest()[:16]


Page = Callable[[PageContext], Awaitable[PageAnswer]]


def _links(counts: NeedCounts, project: str | None) -> Sequence[PageLink]:
    history = with_query(f"{HOME}/archive/activity", {"project": project})
    return (
        PageLink(
            section="needs",
            href=with_query(HOME, {"box": "needs"}),
            label="Needs you",
            icon="bell",
            count=counts.needs,
            is_least=counts.is_least,
            is_first=True,
        ),
        PageLink(section="mail", href=HOME, label="Mail", icon="inbox", count=counts.unread, is_first=True),
        PageLink(section="log", href=with_query(HOME, {"box": "log"}), label="Log", icon="scroll"),
        PageLink(section="now", href=f"{HOME}/now", label="Now", icon="activity", is_first=True),
        PageLink(section="projects", href=f"{HOME}/projects", label="Projects", icon="folders"),
        PageLink(section="search", href=f"{HOME}/search", label="Search", icon="search"),
        PageLink(section="history", href=history, label="History", icon="history"),
        PageLink(section="operations", href=f"{HOME}/operations", label="Operations", icon="gauge"),
    )
