"""What the product use cases answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import InboxEntry, InlineContents
from mcp_agent_mail.domain.products import Product
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.search.query import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    product: Product
    project: Project


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenProduct:
    """`projects`: oldest first, archived ones too."""

    product: Product
    projects: list[Project]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductHits:
    """The messages found, each with the project that it is mail of. The rest is as in `SearchResult`."""

    hits: list[tuple[Hit, Project]]
    is_asked: bool = True
    is_literal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductInbox:
    """Each with the project of the agent that got it, as of `read_ts`. `bodies` is None when none were asked for;
    `inline` comes with them. `owners`: whose inbox it is, by project.
    """

    entries: list[tuple[InboxEntry, Project]]
    read_ts: Micros
    bodies: dict[MessageId, str] | None
    owners: Mapping[ProjectId, Agent]
    inline: InlineContents = field(default_factory=dict)
