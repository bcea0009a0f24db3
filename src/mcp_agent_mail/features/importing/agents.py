"""An agent of another system becomes one of a project here: under its name where that is free and fit."""

from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.core.params import MODEL, PROGRAM, TASK
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, ContactPolicy, NewAgent
from mcp_agent_mail.domain.doors.names import Door, WireName, is_wire_name, second_name, wire_key
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import first_free, has_names_form
from mcp_agent_mail.domain.identity.reissue_command import reissue_command
from mcp_agent_mail.domain.importing.fitted_texts import fit_line, fit_text, fit_time
from mcp_agent_mail.domain.importing.records import SourceAgent, SourceKind
from mcp_agent_mail.domain.importing.report import RenamedAgent, WhyRenamed
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.register import record_event
from mcp_agent_mail.features.importing.former_names import find_former, find_same_name
from mcp_agent_mail.features.importing.unit_of_work import RunningUnit
from mcp_agent_mail.store.transaction import Tx

_UNKNOWN = "unknown"
_CUT_TASK = "…"


def take_agent(unit: RunningUnit, source: SourceAgent) -> None:
    """Once; whoever is known from before stays as it is."""
    source = replace(source, name=fit_text(source.name))
    if unit.find(SourceKind.AGENT, source.key) is not None:
        unit.tally.of(SourceKind.AGENT).known += 1
        return
    project = unit.project(source.project_key)
    if project is not None and (same := _find_same(unit, project, source)) is not None:
        unit.tally.of(SourceKind.AGENT).added += 1
        _join(unit, project, source, same)
        return
    if project is not None and (former := find_former(unit, project, source)) is not None:
        if (alias := find_same_name(unit, source, former)) is not None:
            unit.tally.of(SourceKind.AGENT).added += 1
            _go_on(unit, project, source, former, alias)
            return
        unit.tally.note(f"{source.name!r:.100} was renamed there: its earlier mail is {former.name}'s here, and stays.")
    name, why = _name(unit, project, source)
    if source.wire is None and source.token_hash is None and unit.rules.auth is AgentAuth.STRICT:
        command = reissue_command()
        unit.tally.note(f"Agents without a token cannot act here (AGENT_AUTH=strict): {command} gives them one.")
    unit.tally.of(SourceKind.AGENT).added += 1
    if unit.tx is None or project is None:
        unit.new_names.add((source.project_key, wire_key(source.name)))
        if why is not None:
            _tell(unit, source, project, None, None, why)
        return
    agent = _add(unit.tx, project, source, name or _generated(unit, project), unit)
    alias = _alias(unit.tx, project, source, agent, unit)
    record_event(unit.tx, agent, agent.id)
    unit.take(SourceKind.AGENT, [source.key], agent.id, project.id)
    if why is not None:
        _tell(unit, source, project, agent.name, alias, why)


def _find_same(unit: RunningUnit, project: Project, source: SourceAgent) -> WireName | None:
    """The mailbox that the door's callers have here under the name, or that nobody has spoken as: it is the same."""
    if source.wire is None:
        return None
    known = unit.view.wire_names.find(project.id, source.name)
    if known is None or not (known.owner is source.wire or source.wire in known.linked):
        is_free = known is not None and known.owner is None and not unit.view.agents.has_token(known.agent_id)
        return known if is_free else None
    return known


def _join(unit: RunningUnit, project: Project, source: SourceAgent, same: WireName) -> None:
    agent = unit.view.agents.find(same.agent_id)
    assert agent is not None, same
    _tell(unit, source, project, agent.name, same.name, WhyRenamed.JOINED)
    if unit.tx is None:
        return
    if same.owner is None and source.wire is not None:
        unit.tx.wire_names.own(same, source.wire)
        unit.tx.agents.set_token_hash(agent.id, token_hash(next(unit.supplies.tokens)))
        record_event(unit.tx, agent, None)
    unit.take(SourceKind.AGENT, [source.key], agent.id, project.id)


def _go_on(unit: RunningUnit, project: Project, source: SourceAgent, agent: Agent, alias: str) -> None:
    if unit.tx is not None:
        unit.take(SourceKind.AGENT, [source.key], agent.id, project.id)
    _tell(unit, source, project, agent.name, alias, WhyRenamed.JOINED)


def _name(unit: RunningUnit, project: Project | None, source: SourceAgent) -> tuple[str | None, WhyRenamed | None]:
    """The name that it keeps; None with the reason where it gets another one."""
    name = source.name.strip()
    if (source.project_key, wire_key(name)) in unit.new_names or (
        project is not None and _is_taken(unit, project, name)
    ):
        return None, WhyRenamed.TAKEN  # Also where no agent can be called so: as another name it is another's.
    return (name, None) if has_names_form(name) else (None, WhyRenamed.UNFIT)


def _is_taken(unit: RunningUnit, project: Project, name: str) -> bool:
    is_native = unit.view.agents.find_by_name(project.id, name) is not None
    return is_native or unit.view.wire_names.find(project.id, name) is not None


def _generated(unit: RunningUnit, project: Project) -> str:
    return first_free(unit.supplies.candidates, lambda candidate: _is_taken(unit, project, candidate))


def _add(tx: Tx, project: Project, source: SourceAgent, name: str, unit: RunningUnit) -> Agent:
    """With its policies and its token. Without one it is a name that nobody has registered yet, and whoever does has
    it; not where agents prove who they are: then nobody is told its token, and the operator gives it another.
    """
    tx.require_room()
    hashed = source.token_hash
    if hashed is not None and tx.agents.find_by_token_hash(hashed) is not None:
        command = reissue_command(name, project.slug)
        unit.tally.note(f"The token of {source.name!r:.100} is another agent's here: {command} gives it one.")
        hashed = None
    if hashed is None and (source.wire is not None or unit.rules.auth is AgentAuth.STRICT):
        # What a door owns is not to be had by registering; this token is told to nobody.
        hashed = token_hash(next(unit.supplies.tokens))
    new = NewAgent(
        project_id=project.id,
        kind=AgentKind.AGENT,
        name=name,
        program=_fit_program(source),
        model=fit_line(source.model, MODEL.max_length) or _UNKNOWN,
        task_description=_fit_task(source.task),
        attachments_policy=source.attachments_policy or AttachmentsPolicy.AUTO,
        token_hash=hashed,
    )
    agent = tx.agents.add(new, tx.now)
    policy = source.contact_policy if source.wire is None else ContactPolicy.OPEN  # At a door nobody can be asked.
    if policy is not None:
        tx.agents.set_contact_policy(agent.id, policy, tx.now)
    if source.status is not None:
        tx.agents.set_status(agent.id, source.status, None, fit_time(source.last_active_ts))
    if source.retired_ts is not None:
        tx.agents.set_retired(agent.id, fit_time(source.retired_ts), tx.now)
    created_ts = fit_time(source.created_ts)
    tx.past_times.set_agent(agent.id, created_ts, Micros(max(created_ts, fit_time(source.last_active_ts))))
    found = tx.agents.find(agent.id)
    assert found is not None, agent
    return found


def _fit_program(source: SourceAgent) -> str:
    """What a door's mailboxes are known by, an agent of another system does not say of itself."""
    program = fit_line(source.program, PROGRAM.max_length) or (source.wire.value if source.wire else _UNKNOWN)
    return f"{program} (imported)" if source.wire is None and program in frozenset(Door) else program


def _fit_task(task: str) -> str:
    text, most = fit_text(task), TASK.max_length
    return text if len(text) <= most else text[: most - 1] + _CUT_TASK


def _alias(tx: Tx, project: Project, source: SourceAgent, agent: Agent, unit: RunningUnit) -> str | None:
    """The name that doors, and senders who knew it, call it by; None where it needs none or none is free."""
    if source.wire is None and agent.name == source.name.strip():
        return None
    for name in (source.name.strip(), second_name(source.name, unit.source.system)):
        native = tx.agents.find_by_name(project.id, name)
        is_anothers = native is not None and native.id != agent.id
        if is_wire_name(name) and not is_anothers and tx.wire_names.find(project.id, name) is None:
            known = tx.wire_names.add(project.id, agent.id, name, tx.now)
            if source.wire is not None:
                tx.wire_names.own(known, source.wire)
            return name
    return None


def _tell(
    unit: RunningUnit,
    source: SourceAgent,
    project: Project | None,
    agent: str | None,
    alias: str | None,
    why: WhyRenamed,
) -> None:
    where = unit.context[source.project_key].human_key if source.project_key in unit.context else None
    unit.tally.rename(
        RenamedAgent(
            project=(where or unit.rules.home) if project is None else project.human_key,
            name=source.name[:_SHOWN],
            agent=agent,
            alias=alias,
            why=why,
        )
    )


_SHOWN = 200
