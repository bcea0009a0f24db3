"""Registration, inside one unit of work: who comes back, who is new, and under which name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, token_hash
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.archive_layout import profile_snapshot
from mcp_agent_mail.domain.caller import Caller, require_to_act
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.names import (
    NameEnforcement,
    first_free,
    flaw_of,
    is_generated_form,
    name_from_hint,
    name_to_register,
)
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.windows import Window
from mcp_agent_mail.features.identity.windows import WindowUse, find_live, keep_window
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.view import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What an agent says of itself. `name` is what it asks to be called, a hint where it must be new."""

    project_key: str
    program: str
    model: str
    name: str | None
    task_description: str
    attachments_policy: AttachmentsPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplies:
    """What a unit may not make itself, since it may run in a transaction that is rolled back: chance. And the window
    that the call comes from, if it says so.
    """

    enforcement: NameEnforcement
    candidates: Sequence[str]
    token: str
    window: WindowUse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """`token` at creation only; `requested_name` when the name given was not taken as it was."""

    agent: Agent
    is_verified: bool
    token: str | None = None
    requested_name: str | None = None
    window: Window | None = None


def register(tx: Tx, caller: Caller, wanted: Registration, supplies: Supplies) -> Registered:
    """The agent of this name, back with its new profile; else a new one. No name is the window's."""
    project = require_writable(require_project(tx, wanted.project_key))
    asked = wanted.name
    if asked is None and supplies.window is not None:
        window = find_live(tx, project.id, supplies.window, tx.now())
        asked = None if window is None else window.display_name
    known = None if asked is None else tx.agents.find_by_name(project.id, asked)
    if known is not None and known.kind is AgentKind.AGENT:
        is_verified = require_to_act(caller, known)
        registered = Registered(agent=_come_back(tx, known, wanted), is_verified=is_verified)
    else:
        name = _name_for(asked, wanted, supplies.enforcement)
        registered = _create(tx, project, name, wanted, supplies)
    return _in_window(tx, registered, supplies, was_named=wanted.name is not None)


def _name_for(asked: str | None, wanted: Registration, enforcement: NameEnforcement) -> str | None:
    """None: one is generated. A window's name is not this agent's wish: where it is unfit, that is no one's mistake."""
    if asked is None or wanted.name is not None:
        return name_to_register(asked, enforcement, program=wanted.program, model=wanted.model)
    is_fit = flaw_of(asked, program=wanted.program, model=wanted.model) is None
    return asked if is_fit and (enforcement is NameEnforcement.FREE or is_generated_form(asked)) else None


def create_identity(tx: Tx, wanted: Registration, supplies: Supplies) -> Registered:
    """Always a new agent."""
    project = require_writable(require_project(tx, wanted.project_key))

    def is_taken(name: str) -> bool:
        return tx.agents.find_by_name(project.id, name) is not None

    name = name_from_hint(
        wanted.name, supplies.enforcement, program=wanted.program, model=wanted.model, is_taken=is_taken
    )
    return _in_window(tx, _create(tx, project, name, wanted, supplies), supplies, was_named=True)


def _in_window(tx: Tx, registered: Registered, supplies: Supplies, *, was_named: bool) -> Registered:
    if supplies.window is None:
        return registered
    return replace(registered, window=keep_window(tx, registered.agent, supplies.window, was_named=was_named))


def tell_archive(tx: Tx, agent: Agent, by: AgentId | None, now: Micros) -> None:
    """The profile as it is now, for the project's archive."""
    tx.outbox.add(
        NewEvent(
            project_id=agent.project_id,
            kind=EventKind.PROFILE,
            agent_id=by,
            message_id=None,
            snapshot=profile_snapshot(agent),
        ),
        now,
    )


def _come_back(tx: Tx, known: Agent, wanted: Registration) -> Agent:
    """Its history, contact policy, token and the spelling of its name are kept. Nothing new is no write."""
    task = wanted.task_description if wanted.task_description.strip() else known.task_description
    before = (known.program, known.model, known.task_description, known.attachments_policy, known.retired_ts)
    if before == (wanted.program, wanted.model, task, wanted.attachments_policy, None):
        return known
    now = tx.now()
    agent = tx.agents.update_profile(
        known.id,
        program=wanted.program,
        model=wanted.model,
        task_description=task,
        attachments_policy=wanted.attachments_policy,
        now=now,
    )
    if known.is_retired:
        agent = tx.agents.set_retired(known.id, None, now)
    tell_archive(tx, agent, agent.id, now)
    return agent


def _create(tx: Tx, project: Project, name: str | None, wanted: Registration, supplies: Supplies) -> Registered:
    given = name or first_free(
        supplies.candidates, lambda candidate: tx.agents.find_by_name(project.id, candidate) is not None
    )
    now = tx.now()
    agent = tx.agents.add(
        NewAgent(
            project_id=project.id,
            kind=AgentKind.AGENT,
            name=given,
            program=wanted.program,
            model=wanted.model,
            task_description=wanted.task_description,
            attachments_policy=wanted.attachments_policy,
            token_hash=token_hash(supplies.token),
        ),
        now,
    )
    tell_archive(tx, agent, agent.id, now)
    return Registered(
        agent=agent,
        is_verified=False,
        token=supplies.token,
        requested_name=wanted.name.strip() if wanted.name is not None and name is None else None,
    )
