"""From names to agents: who gets a message, and who does not."""

from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.clock import SECOND
from mcp_agent_mail.core.errors import InvalidInput, NotFound, RecipientNotFound, RecipientRetired
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import UnreadableAddress, parse_address
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.identity.names import name_key, recipient_name
from mcp_agent_mail.domain.messages import (
    ACTIVE_WITHIN_DAYS,
    MAX_BROADCAST_RECIPIENTS,
    MAX_NAMED_RECIPIENTS,
    NewRecipient,
    RecipientKind,
)
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.door_callers import is_mailbox
from mcp_agent_mail.features.identity.lookup import find_agent
from mcp_agent_mail.features.messaging.requests import RecipientList
from mcp_agent_mail.features.messaging.unknown_recipients import UnknownRecipient, unknown_recipients
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.transaction import View

MAX_SKIPPED_LISTED = 1_000
_ELSEWHERE = frozenset("@#:")
"""What stands in every address that names a project."""
_DAY = 24 * 3_600 * SECOND


class TooManyRecipients(InvalidInput):
    """Beyond the number of recipients one message may have."""


class NobodyAddressed(InvalidInput):
    """A message needs a recipient."""


class AmbiguousRecipient(InvalidInput):
    """No agent here has the name, and the sender has approved links to several elsewhere."""


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
    is_bare: bool


def choose_named(view: View, sender: Actor, named: RecipientList) -> list[NewRecipient]:
    """The agents named, `to` before `cc` before `bcc`, each once. Raises when one is unknown: nothing is guessed.

    A name that no agent has is the one that doors know by it; a bare one that no door knows either is the one elsewhere
    that the sender has an approved link to. Raises AmbiguousName.
    """
    alone = _find_alone(view, sender.project, named)
    if alone is not None:
        return [alone]
    written, unknown = _understand(view, sender.project, named)
    names: dict[ProjectId, set[str]] = {}
    for one in written:
        names.setdefault(one.project.id, set()).add(one.name)
    agents = {project_id: view.agents.find_by_names(project_id, wanted) for project_id, wanted in names.items()}
    chosen: dict[AgentId, NewRecipient] = {}
    for one in written:
        meant = one
        agent = agents[one.project.id].get(name_key(one.name))
        if agent is None or is_mailbox(agent):
            agent = find_agent(view, one.project.id, one.name)
        if agent is None and one.is_bare and (linked := _by_link(view, sender, one)) is not None:
            agent, meant = linked
        if agent is None or agent.kind is AgentKind.SYSTEM:
            unknown.append(UnknownRecipient(kind=one.kind, text=one.text, name=one.name, project=one.project))
        else:
            chosen.setdefault(agent.id, NewRecipient(agent=agent, project=meant.project, kind=one.kind))
    if unknown:
        raise unknown_recipients(view, sender.project, unknown)
    return list(chosen.values())


def _find_alone(view: View, home: Project, named: RecipientList) -> NewRecipient | None:
    """The recipient of most mail: a native agent of the sender's project, alone and by its bare name. None asks to look
    closer.
    """
    if len(named.to) != 1 or named.cc or named.bcc or not _ELSEWHERE.isdisjoint(named.to[0]):
        return None
    agent = view.agents.find_by_name(home.id, recipient_name(named.to[0]))
    if agent is None or agent.kind is AgentKind.SYSTEM or is_mailbox(agent):
        return None
    return NewRecipient(agent=agent, project=home, kind=RecipientKind.TO)


def _by_link(view: View, sender: Actor, one: _Written) -> tuple[Agent, _Written] | None:
    """What an address book does: the sender's approved links know who is meant."""
    found = [
        view.agents.find(agent_id) for agent_id in view.contacts.approved_elsewhere(sender.agent.id, one.name, view.now)
    ]
    agents = [agent for agent in found if agent is not None]
    if not agents:
        return None
    projects = [project for agent in agents if (project := view.projects.find(agent.project_id)) is not None]
    if len(agents) > 1:
        addresses = [f"{agent.name}@{project.slug}" for agent, project in zip(agents, projects, strict=True)]
        raise AmbiguousRecipient(
            f"{one.name!r:.100} may be any of {len(agents)} contacts of {sender.agent.name}.",
            hint=f"Write which one: {', '.join(addresses)}. Nothing was sent.",
            data={"recipient": one.text, "accepted": addresses},
        )
    return agents[0], replace(one, project=projects[0])


def _understand(view: View, home: Project, named: RecipientList) -> tuple[list[_Written], list[UnknownRecipient]]:
    """What is written, and what is no address or names a project that there is not."""
    _require_few(len(named.to) + len(named.cc) + len(named.bcc))
    projects: dict[str | None, Project] = {None: home}
    written, unknown = [], []
    for kind, texts in ((RecipientKind.TO, named.to), (RecipientKind.CC, named.cc), (RecipientKind.BCC, named.bcc)):
        for text in texts:
            try:
                address = parse_address(text)
                key = address.project_key
                if key is not None and key not in projects:
                    projects[key] = _project(view, key)
            except (UnreadableAddress, RecipientNotFound) as refusal:
                unknown.append(UnknownRecipient(kind=kind, text=text, name=text, project=home, refusal=refusal))
                continue
            name = recipient_name(address.name)
            written.append(_Written(kind=kind, text=text, name=name, project=projects[key], is_bare=key is None))
    return written, unknown


def _require_few(count: int) -> None:
    if count > MAX_NAMED_RECIPIENTS:
        raise TooManyRecipients(
            f"{count} recipients are named; at most {MAX_NAMED_RECIPIENTS} are accepted.",
            hint="Use broadcast=true to reach everyone active in the project.",
            data={"max": MAX_NAMED_RECIPIENTS},
        )


def _project(view: View, key: str) -> Project:
    try:
        project = require_project(view, key)
    except NotFound as unknown:
        raise RecipientNotFound(unknown.message, hint=unknown.hint, data=unknown.data) from unknown
    return require_writable(project)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Whom a broadcast reaches and whom it leaves out."""

    reached: list[NewRecipient]
    skipped: list[Skipped]


def choose_everyone(view: View, home: Project, sender: Agent) -> Audience:
    """The agents of the project active within 30 days less the sender, last active first.

    `Human` and `System` are no part of it: a person is written to by name. At most
    `MAX_SKIPPED_LISTED` of those left out are listed, the last active ones.
    """
    most = MAX_BROADCAST_RECIPIENTS + 1
    active = view.agents.list_(home.id, active_since=view.now - ACTIVE_WITHIN_DAYS * _DAY, limit=most + 1)
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
