"""From names to agents: who gets a message, and who does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import (
    AgentMailError,
    InvalidInput,
    NotFound,
    RecipientNotFound,
    RecipientRetired,
    listed,
)
from mcp_agent_mail.domain.addresses import parse_address
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.contacts import decide
from mcp_agent_mail.domain.messages import MAX_BROADCAST_RECIPIENTS, MAX_NAMED_RECIPIENTS, RecipientKind
from mcp_agent_mail.domain.names import did_you_mean, nearest, recipient_name
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.messaging.requests import Named
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.view import View

ACTIVE_WITHIN_DAYS = 30
MAX_SKIPPED_LISTED = 1_000
_MAX_EXPLAINED = 3
_DAY = 24 * 3_600 * SECOND


class TooManyRecipients(InvalidInput):
    """Beyond the number of recipients one message may have."""


class NobodyAddressed(InvalidInput):
    """A message needs a recipient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """An agent that is to get the message, with its project."""

    agent: Agent
    project: Project
    kind: RecipientKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """An agent that a broadcast leaves out. `code` is a wire error code, or INACTIVE."""

    agent: str
    code: str
    reason: str


@dataclass(slots=True)
class _Roll:
    """Who was named so far, each agent once."""

    view: View
    home: Project
    chosen: dict[int, Chosen] = field(default_factory=dict)
    unknown: list[tuple[str, str, Project]] = field(default_factory=list)
    projects: dict[str, Project] = field(default_factory=dict)

    def call(self, text: str, kind: RecipientKind) -> None:
        address = parse_address(text)
        project = self.home if address.project_key is None else self._project(address.project_key)
        name = recipient_name(address.name)
        agent = self.view.agents.find_by_name(project.id, name)
        if agent is None or agent.kind is AgentKind.SYSTEM:
            self.unknown.append((text, name, project))
        else:
            self.chosen.setdefault(agent.id, Chosen(agent=agent, project=project, kind=kind))

    def _project(self, key: str) -> Project:
        if key not in self.projects:
            try:
                project = require_project(self.view, key)
            except NotFound as unknown:
                raise RecipientNotFound(unknown.message, hint=unknown.hint, data=unknown.data) from unknown
            self.projects[key] = self.home if project.id == self.home.id else require_writable(project)
        return self.projects[key]


def choose_named(view: View, home: Project, named: Named) -> list[Chosen]:
    """The agents named, `to` before `cc` before `bcc`. Raises when one of them is unknown: nothing is guessed."""
    count = len(named.to) + len(named.cc) + len(named.bcc)
    if count > MAX_NAMED_RECIPIENTS:
        raise TooManyRecipients(
            f"{count} recipients are named; at most {MAX_NAMED_RECIPIENTS} are accepted.",
            hint="Use broadcast=true to reach everyone active in the project.",
            data={"max": MAX_NAMED_RECIPIENTS},
        )
    roll = _Roll(view=view, home=home)
    for kind, texts in ((RecipientKind.TO, named.to), (RecipientKind.CC, named.cc), (RecipientKind.BCC, named.bcc)):
        for text in texts:
            roll.call(text, kind)
    if roll.unknown:
        raise _unknown_recipients(view, roll.unknown)
    return list(roll.chosen.values())


def _unknown_recipients(view: View, unknown: list[tuple[str, str, Project]]) -> RecipientNotFound:
    close: dict[str, list[str]] = {}
    for text, name, project in unknown[:_MAX_EXPLAINED]:
        close[text] = nearest(name, view.agents.names(project.id))
    written, name, project = unknown[0]
    others = f" ({len(unknown)} recipients are unknown)" if len(unknown) > 1 else ""
    fact = "System receives no mail" if name.lower() == "system" else f"{project.human_key} has no agent {name!r:.100}"
    return RecipientNotFound(
        f"{fact}{others}.",
        hint=f"{did_you_mean(close[written])}list_agents shows who is there; nothing was sent.",
        data={
            "unknown": [text for text, _, _ in unknown],
            "nearest": close[written],
            "nearest_by_recipient": close,
            "project": project.human_key,
        },
    )


def require_deliverable(sender: Agent, chosen: Iterable[Chosen]) -> None:
    """All or nothing: one recipient whom the sender may not reach refuses the message."""
    _, refused = part_by_consent(sender, chosen)
    if refused:
        raise _refusal(refused)


def part_by_consent(sender: Agent, chosen: Iterable[Chosen]) -> tuple[list[Chosen], list[Skipped]]:
    """Those whom the sender may reach, and the others with the reason."""
    reached: list[Chosen] = []
    refused: list[Skipped] = []
    for one in chosen:
        said = decide(sender=sender, recipient=one.agent)
        if said.code is None:
            reached.append(one)
        else:
            refused.append(Skipped(agent=one.agent.name, code=said.code, reason=said.reason))
    return reached, refused


def _refusal(refused: list[Skipped]) -> AgentMailError:
    names = [one.agent for one in refused]
    return RecipientRetired(
        f"{listed(names[:10])} {'is' if len(names) == 1 else 'are'} retired; nothing was sent.",
        hint="Leave them out, or bring them back with unretire_agent.",
        data={"refused": [{"agent": one.agent, "code": one.code, "reason": one.reason} for one in refused]},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Whom a broadcast reaches and whom it leaves out."""

    reached: list[Chosen]
    skipped: list[Skipped]


def choose_everyone(view: View, home: Project, sender: Agent, now: Micros) -> Audience:
    """The agents of the project active within 30 days less the sender, last active first.

    `Human` and `System` are no part of it: a person is written to by name. At most
    `MAX_SKIPPED_LISTED` of those left out are listed, the last active ones.
    """
    most = MAX_BROADCAST_RECIPIENTS + 1
    active = view.agents.list_(home.id, active_since=now - ACTIVE_WITHIN_DAYS * _DAY, limit=most + 1)
    reached = [Chosen(agent=one, project=home, kind=RecipientKind.TO) for one in active if one.id != sender.id]
    if len(reached) > MAX_BROADCAST_RECIPIENTS:
        raise TooManyRecipients(
            f"A broadcast reaches at most {MAX_BROADCAST_RECIPIENTS} agents, and more are active in this project.",
            hint="Retire agents that are gone, or name the recipients.",
            data={"max": MAX_BROADCAST_RECIPIENTS},
        )
    known = {one.id for one in active} | {sender.id}
    everyone = view.agents.list_(home.id, include_retired=True, limit=len(known) + MAX_SKIPPED_LISTED)
    return Audience(reached=reached, skipped=[_left_out(one) for one in everyone if one.id not in known])


def _left_out(agent: Agent) -> Skipped:
    if agent.is_retired:
        return Skipped(agent=agent.name, code=RecipientRetired.code, reason=f"{agent.name} is retired")
    return Skipped(
        agent=agent.name, code="INACTIVE", reason=f"{agent.name} was not active within {ACTIVE_WITHIN_DAYS} days"
    )
