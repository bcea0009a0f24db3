"""What is around every page: where one is, who one is, what waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.web.forms import form_token


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLink:
    """`section` is the word by which a page says that it belongs there; `count` is shown where there is any, and that
    there is more where it `is_least`. `is_first`: it has its place in a narrow window too.
    """

    section: str
    href: str
    label: str
    icon: str
    count: int = 0
    is_least: bool = False
    is_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """`session` is shown as one that is signed in; without one only reading is offered. `path` is the page's own, with
    its query, to come back to. `section` is where in the navigation it stands, `project` whose page it is. `names` are
    those of projects by their slugs: of the one whose page it is, and of the newest. `writing` is the project in whose
    name a letter begins: the page's own, else that of the newest mail. What happens behind
    the event `after` the page may not show yet. `bearer` tells whose session it is from others' and tells nothing else:
    a browser keeps drafts under it; empty without a session.
    """

    title: str
    section: str
    links: Sequence[PageLink]
    projects: Sequence[PageLink]
    role: Role
    is_signed_in: bool
    path: str
    now: Micros
    names: Mapping[str, str]
    after: str
    project: str | None = None
    writing: str | None = None
    bearer: str = ""
    secret: str | None = field(default=None, repr=False)

    @property
    def is_operator(self) -> bool:
        """Whether the page is read in a session of the operator, who alone acts as `Human`."""
        return self.is_signed_in and self.role is Role.OPERATOR

    def name_of(self, project: str) -> str:
        """As people call the project of this slug; the slug where that is not known."""
        return self.names.get(project, project)

    def form_token(self, action: str) -> str:
        """What a form of this page holds that is sent to `action`."""
        return "" if self.secret is None else form_token(self.secret, action)
