"""From names to agents: who gets a message, and who does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import (
    AgentMailError,
    InvalidInput,
    NotFound,
    RecipientNotFound,
    RecipientRetired,
    listed,
)
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.addresses import parse_address
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.contacts import decide
from mcp_agent_mail.domain.messages import MAX_BROADCAST_RECIPIENTS, MAX_NAMED_RECIPIENTS, NewRecipient, RecipientKind
from mcp_agent_mail.domain.names import SYSTEM, did_you_mean, name_key, nearest, recipient_name
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
class Skipped:
    """An agent that a broadcast leaves out. `code` is a wire error code, or INACTIVE."""

    agent: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """One recipient as written, and what is meant by it."""

    kind: RecipientKind
    text: str
    name: str
    project: Project


def choose_named(view: View, home: Project, named: Named) -> list[NewRecipient]:
    """The agents named, `to` before `cc` before `bcc`, each once. Raises when one is unknown: nothing is guessed."""
    written = _understand(view, home, named)
    names: dict[ProjectId, set[str]] = {}
    for one in written:
        names.setdefault(one.project.id, set()).add(one.name)
    agents = {project_id: view.agents.find_by_names(project_id, wanted) for project_id, wanted in names.items()}
    chosen: dict[AgentId, NewRecipient] = {}
    unknown: list[_Written] = []
    for one in written:
        agent = agents[one.project.id].get(name_key(one.name))
        if agent is None or agent.kind is AgentKind.SYSTEM:
            unknown.append(one)
        else:
            chosen.setdefault(agent.id, NewRecipient(agent=agent, project=one.project, kind=one.kind))
    if unknown:
        raise _unknown_recipients(view, unknown)
    return list(chosen.values())


def _understand(view: View, home: Project, named: Named) -> list[_Written]:
    _require_few(len(named.to) + len(named.cc) + len(named.bcc))
    projects: dict[str | None, Project] = {None: home}
    written = []
    for kind, texts in ((RecipientKind.TO, named.to), (RecipientKind.CC, named.cc), (RecipientKind.BCC, named.bcc)):
        for text in texts:
            address = parse_address(text)
            key = address.project_key
            if key is not None and key not in projects:
                projects[key] = _project(view, home, key)
            written.append(_Written(kind=kind, text=text, name=recipient_name(address.name), project=projects[key]))
    return written


def _require_few(count: int) -> None:
    if count > MAX_NAMED_RECIPIENTS:
        raise TooManyRecipients(
            f"{count} recipients are named; at most {MAX_NAMED_RECIPIENTS} are accepted.",
            hint="Use broadcast=true to reach everyone active in the project.",
            data={"max": MAX_NAMED_RECIPIENTS},
        )


def _project(view: View, home: Project, key: str) -> Project:
    try:
        project = require_project(view, key)
    except NotFound as unknown:
        raise RecipientNotFound(unknown.message, hint=unknown.hint, data=unknown.data) from unknown
    return home if project.id == home.id else require_writable(project)


def _unknown_recipients(view: View, unknown: list[_Written]) -> RecipientNotFound:
    close = {one.text: nearest(one.name, view.agents.names(one.project.id)) for one in unknown[:_MAX_EXPLAINED]}
    first = unknown[0]
    others = f" ({len(unknown)} recipients are unknown)" if len(unknown) > 1 else ""
    is_system = name_key(first.name) == name_key(SYSTEM)
    fact = "System receives no mail" if is_system else f"{first.project.human_key} has no agent {first.name!r:.100}"
    return RecipientNotFound(
        f"{fact}{others}.",
        hint=f"{did_you_mean(close[first.text])}list_agents shows who is there; nothing was sent.",
        data={
            "unknown": [one.text for one in unknown],
            "nearest": close[first.text],
            "nearest_by_recipient": close,
            "project": first.project.human_key,
        },
    )


def require_deliverable(sender: Agent, chosen: Iterable[NewRecipient]) -> None:
    """All or nothing: one recipient whom the sender may not reach refuses the message."""
    _, refused = part_by_consent(sender, chosen)
    if refused:
        raise _refusal(refused)


def part_by_consent(sender: Agent, chosen: Iterable[NewRecipient]) -> tuple[list[NewRecipient], list[Skipped]]:
    """Those whom the sender may reach, and the others with the reason."""
    reached: list[NewRecipient] = []
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

    reached: list[NewRecipient]
    skipped: list[Skipped]


def choose_everyone(view: View, home: Project, sender: Agent, now: Micros) -> Audience:
    """The agents of the project active within 30 days less the sender, last active first.

    `Human` and `System` are no part of it: a person is written to by name. At most
    `MAX_SKIPPED_LISTED` of those left out are listed, the last active ones.
    """
    most = MAX_BROADCAST_RECIPIENTS + 1
    active = view.agents.list_(home.id, active_since=now - ACTIVE_WITHIN_DAYS * _DAY, limit=most + 1)
    reached = [NewRecipient(agent=one, project=home, kind=RecipientKind.TO) for one in active if one.id != sender.id]
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
