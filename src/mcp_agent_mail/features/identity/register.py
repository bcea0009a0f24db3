"""Registration, inside one unit of work: who comes back, who is new, and under which name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mcp_agent_mail.core.errors import in_sentences
from mcp_agent_mail.core.ids import AgentId, ProjectId, token_hash
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, ContactPolicy, NewAgent
from mcp_agent_mail.domain.identity.caller import Caller, TokenMissing, WrongToken, require_to_act
from mcp_agent_mail.domain.identity.names import (
    NameEnforcement,
    first_free,
    flaw_of,
    is_generated_form,
    mistaken_for,
    name_from_hint,
    name_to_register,
)
from mcp_agent_mail.domain.identity.windows import Window
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.actor import require_not_put_away
from mcp_agent_mail.features.identity.admission import AdmissionRequest, NamingRules, add_agent, claim_agent
from mcp_agent_mail.features.identity.claimed_names import may_act_beside
from mcp_agent_mail.features.identity.door_callers import is_mailbox, require_own_program
from mcp_agent_mail.features.identity.lookup import find_agent, find_current, is_left_name
from mcp_agent_mail.features.identity.windows import WindowUse, find_live, keep_window
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.doors.profiles import record_profile
from mcp_agent_mail.store.transaction import Tx


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
    """What a registration needs and its unit of work may not draw itself, since it may run in a transaction that is
    rolled back: random names, a token. And the window that the call comes from, if it says so.
    """

    new_names: NamingRules
    candidates: Sequence[str]
    token: str
    window: WindowUse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """`token` at creation only; `requested_name` when the name given was not taken as it was.

    `was` is the agent as it stood when it came back; `free_name` is for whoever took its name without proof, and may
    not have meant it. `like` is the agent that a new name may be a slip of. `is_shut_out`: its token counts for nothing
    on the connection that it was registered on, which is for other agents alone.
    """

    agent: Agent
    is_verified: bool
    token: str | None = None
    requested_name: str | None = None
    window: Window | None = None
    was: Agent | None = None
    free_name: str | None = None
    like: str | None = None
    is_shut_out: bool = False


def register(tx: Tx, caller: Caller, wanted: Registration, supplies: Supplies) -> Registered:
    """The agent of this name, back with its new profile; else a new one. No name is the token's own, then the window's.

    An agent that its token alone names keeps its program and model. A name that others spoke of and nobody has
    registered is a new one, with what waits for it.
    """
    require_own_program(wanted.program)
    project = require_writable(require_project(tx, wanted.project_key))
    admission_request = AdmissionRequest(
        project=project, caller=caller, admission=supplies.new_names.admission, name=wanted.name
    )
    own = caller.name_in(project.id)
    is_unnamed = wanted.name is None and own is not None
    asked = wanted.name or own
    if asked is None and supplies.window is not None:
        window = find_live(tx, project.id, supplies.window)
        asked = None if window is None else window.display_name
    known = None if asked is None else find_current(tx, project.id, asked)
    if known is not None and not caller.is_operator:
        require_not_put_away(tx, known, project)
    if known is None or known.kind is not AgentKind.AGENT:
        name = _name_for(asked, wanted, supplies.new_names.enforcement)
        registered = _create(tx, admission_request, name, wanted, supplies)
    elif tx.agents.has_token(known.id):
        free_name = None if known.id == caller.agent_id else _find_free(tx, project, supplies)
        is_verified = _require_own(caller, known, free_name)
        # Who says no name may think that it gets a new one, for a helper: its own profile is not that helper's.
        profile = replace(wanted, program=known.program, model=known.model) if is_unnamed else wanted
        registered = Registered(
            agent=_come_back(tx, known, profile),
            is_verified=is_verified,
            was=known,
            free_name=None if is_verified else free_name,
        )
    else:
        registered = _claim(tx, admission_request, known, wanted, supplies)
    registered = replace(registered, is_shut_out=_is_shut_out(tx, caller, registered))
    return _in_window(tx, caller, registered, supplies, was_named=wanted.name is not None or own is not None)


def _is_shut_out(tx: Tx, caller: Caller, registered: Registered) -> bool:
    if registered.token is None or caller.token_agents is None:
        return False
    return not may_act_beside(tx, caller.token_agents, registered.agent)


def _take_left_name(tx: Tx, project_id: ProjectId, name: str) -> None:
    """Somebody has the name from now on: where a rename has left it, it leads to that mailbox no more."""
    known = tx.wire_names.find(project_id, name)
    agent = None if known is None else tx.agents.find(known.agent_id)
    if known is not None and agent is not None and is_left_name(tx, agent, name):
        tx.wire_names.remove(known)
        record_event(tx, agent, None)


def _find_free(tx: Tx, project: Project, supplies: Supplies) -> str | None:
    free = (name for name in supplies.candidates if find_agent(tx, project.id, name) is None)
    return next(free, None)


def _require_own(caller: Caller, known: Agent, free_name: str | None) -> bool:
    """As `require_to_act`; the refusal names a name that is free, since the one that was asked for is not."""
    try:
        return require_to_act(caller, known)
    except (WrongToken, TokenMissing) as refused:
        if free_name is None:
            raise
        raise type(refused)(
            refused.message,
            hint=in_sentences(refused.hint, f"{free_name} is free."),
            data={**refused.data, "free_name": free_name},
        ) from None


def _name_for(asked: str | None, wanted: Registration, enforcement: NameEnforcement) -> str | None:
    """None: one is generated. A window's name is not this agent's wish: where it is unfit, that is no one's mistake."""
    if asked is None or wanted.name is not None:
        return name_to_register(asked, enforcement, program=wanted.program, model=wanted.model)
    is_fit = flaw_of(asked, program=wanted.program, model=wanted.model) is None
    return asked if is_fit and (enforcement is NameEnforcement.FREE or is_generated_form(asked)) else None


def create_identity(tx: Tx, caller: Caller, wanted: Registration, supplies: Supplies) -> Registered:
    """Register an agent that is always new; a name that is taken becomes a generated one, or is refused, as the mode
    says.
    """
    require_own_program(wanted.program)
    project = require_writable(require_project(tx, wanted.project_key))
    admission_request = AdmissionRequest(
        project=project, caller=caller, admission=supplies.new_names.admission, name=wanted.name
    )

    def is_taken(name: str) -> bool:
        known = find_current(tx, project.id, name)
        return known is not None and (known.kind is not AgentKind.AGENT or tx.agents.has_token(known.id))

    name = name_from_hint(
        wanted.name, supplies.new_names.enforcement, program=wanted.program, model=wanted.model, is_taken=is_taken
    )
    unclaimed = None if name is None else find_current(tx, project.id, name)
    if unclaimed is not None and not caller.is_operator:
        require_not_put_away(tx, unclaimed, project)
    if unclaimed is None:
        registered = _create(tx, admission_request, name, wanted, supplies)
    else:
        registered = _claim(tx, admission_request, unclaimed, wanted, supplies)
    registered = replace(registered, is_shut_out=_is_shut_out(tx, caller, registered))
    return _in_window(tx, caller, registered, supplies, was_named=True)


def _in_window(tx: Tx, caller: Caller, registered: Registered, supplies: Supplies, *, was_named: bool) -> Registered:
    """The window is the caller's: a member that lets somebody in does not give it away."""
    if supplies.window is None:
        return registered
    agent = registered.agent
    own = None if caller.agent_id is None else tx.agents.find(caller.agent_id)
    if own is not None and own.project_id == agent.project_id:
        agent = own
    return replace(registered, window=keep_window(tx, agent, supplies.window, was_named=was_named))


def record_event(tx: Tx, agent: Agent, by: AgentId | None) -> None:
    """Queue the agent's profile as it is now for the project's archive. `by` is who changed it."""
    record_profile(tx, agent, by)


def record_claim(tx: Tx, agent: Agent, by: AgentId | None) -> None:
    """An agent that nobody had is somebody's: of one that doors know the profile says so."""
    if tx.wire_names.of_agent(agent.id):
        record_event(tx, agent, by)


def _come_back(tx: Tx, known: Agent, wanted: Registration) -> Agent:
    """Its history, contact policy, token and the spelling of its name are kept. Nothing new is no write."""
    task = wanted.task_description if wanted.task_description.strip() else known.task_description
    before = (known.program, known.model, known.task_description, known.attachments_policy, known.retired_ts)
    if before == (wanted.program, wanted.model, task, wanted.attachments_policy, None):
        return known
    now = tx.now
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
    record_event(tx, agent, agent.id)
    return agent


def _claim(
    tx: Tx, admission_request: AdmissionRequest, known: Agent, wanted: Registration, supplies: Supplies
) -> Registered:
    """The first to register a name that nobody had gets its token, and the spelling that it was spoken of by."""
    claim_agent(tx, admission_request, known, token_hash(supplies.token))
    if is_mailbox(known) and known.contact_policy is ContactPolicy.OPEN:
        # Of a door's making: an agent that can be asked is, unless it says otherwise.
        known = tx.agents.set_contact_policy(known.id, ContactPolicy.AUTO, tx.now)
    agent = _come_back(tx, known, wanted)
    if agent is known:
        record_claim(tx, agent, agent.id)
    return Registered(agent=agent, is_verified=False, token=supplies.token)


def _create(
    tx: Tx, admission_request: AdmissionRequest, name: str | None, wanted: Registration, supplies: Supplies
) -> Registered:
    given = name or first_free(
        supplies.candidates,
        lambda candidate: find_agent(tx, admission_request.project.id, candidate) is not None,
    )
    _take_left_name(tx, admission_request.project.id, given)
    known = [] if name is None or wanted.name is None else tx.agents.names(admission_request.project.id)
    agent = add_agent(
        tx,
        admission_request,
        NewAgent(
            project_id=admission_request.project.id,
            kind=AgentKind.AGENT,
            name=given,
            program=wanted.program,
            model=wanted.model,
            task_description=wanted.task_description,
            attachments_policy=wanted.attachments_policy,
            token_hash=token_hash(supplies.token),
        ),
    )
    record_event(tx, agent, agent.id)
    return Registered(
        agent=agent,
        is_verified=False,
        token=supplies.token,
        requested_name=wanted.name.strip() if wanted.name is not None and name is None else None,
        like=mistaken_for(given, known),
    )
