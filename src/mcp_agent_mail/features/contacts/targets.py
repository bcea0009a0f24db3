"""Whom a contact request means: a name, an address, or an agent that is not there yet."""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput, NotFound, RecipientNotFound, listed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import parse_address
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.contacts import AddressesDiffer, ContactWithSelf, Relation
from mcp_agent_mail.domain.identity.admission import NotAdmitted, ProjectAdmission
from mcp_agent_mail.domain.identity.caller import Caller, ReservedIdentity
from mcp_agent_mail.domain.identity.likely_names import means_person
from mcp_agent_mail.domain.identity.names import (
    HUMAN,
    NameEnforcement,
    UnfitName,
    UnknownAgent,
    did_you_mean,
    name_to_register,
    recipient_name,
)
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.admission import AdmissionRequest, NamingRules, add_agent, require_admission
from mcp_agent_mail.features.identity.door_callers import require_own_program
from mcp_agent_mail.features.identity.lookup import (
    find_agent,
    known_names,
    near_elsewhere,
    present_names,
    require_agent,
    told_present,
)
from mcp_agent_mail.features.identity.register import record_event
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.transaction import Tx

UNKNOWN = "unknown"
_NEAR = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is said of an agent that is registered because somebody asks for it."""

    program: str | None = None
    model: str | None = None
    task_description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactTarget:
    """`to_agent` may be an address. `register` holds the profile of a target that is not there; None: it must be.

    `unless_near`: nobody asked for it to be registered, so a name that is like another's, or another project's, is not.
    """

    project_key: str
    from_agent: str
    to_agent: str
    to_project: str | None
    register: Profile | None
    unless_near: bool = False


class NoSuchTarget(NotFound):
    """Nobody has this name, which is like another's: it is not registered unless that is asked for."""


class AmbiguousSource(InvalidInput):
    """Agents of one name in several projects can be meant."""


def require_target(
    tx: Tx, caller: Caller, source: Actor, wanted: ContactTarget, rules: NamingRules
) -> tuple[Actor, bool]:
    """The agent that is asked, and whether it was made for that. Its project exists; the agent itself is made when it
    may be.
    """
    name, project = _addressed(tx, source.project, wanted.to_agent, wanted.to_project)
    require_writable(project)
    agent = find_agent(tx, project.id, name)
    if agent is None and wanted.register is not None:
        admission_request = AdmissionRequest(project=project, caller=caller, admission=rules.admission)
        try:
            require_admission(tx, admission_request)
            if wanted.unless_near:
                _require_far(tx, project, name)
            return _make(tx, admission_request, name, wanted.register, rules.enforcement), True
        except NotAdmitted as shut:
            # Who asks is there: what it needs to know is that its target is not, and will not be by its word.
            raise _unknown(tx, project, name, admission_request) from shut
    if agent is None or agent.kind is AgentKind.SYSTEM:
        raise _unknown(tx, project, name)
    if agent.id == source.agent.id:
        raise ContactWithSelf(
            f"{agent.name} may always write to itself.",
            hint="Name another agent.",
            data={"parameter": "to_agent"},
            refused=wanted.to_agent,
        )
    return Actor(agent=agent, project=project), False


def require_source_of(tx: Tx, target: Actor, from_agent: str, from_project: str | None) -> Actor:
    """The agent whose request the target answers. Without a project it is the one of that name that asks, wherever it
    is. Raises for one that is not there, AmbiguousSource and ContactWithSelf.
    """
    name, project = _addressed(tx, target.project, from_agent, from_project)
    if from_project is None and parse_address(from_agent).project_key is None:
        project = _project_of_asking(tx, target, name)
    try:
        agent = require_agent(tx, project, name)
    except UnknownAgent as unknown:
        hint = _who_asks(tx, target) or did_you_mean(near_elsewhere(tx, project, name)) or unknown.hint
        raise UnknownAgent(unknown.message, hint=hint, data={**unknown.data, "parameter": "from_agent"}) from None
    if agent.id == target.agent.id:
        raise ContactWithSelf(
            f"{agent.name} may always write to itself.", hint="Name another agent.", data={"parameter": "from_agent"}
        )
    if agent.kind is AgentKind.SYSTEM:
        raise ReservedIdentity("System is the server's own sender.", hint="Name a registered agent.")
    return Actor(agent=agent, project=require_writable(project))


def _who_asks(tx: Tx, target: Actor) -> str:
    """Those that wait for the target's answer, as `from_agent` takes them; nothing where nobody does."""
    waiting = tx.contacts.requests(target.agent.id, tx.now, _NEAR)
    homes = {link.source: link.source.project_id == target.project.id for link in waiting}
    names = [one.name if is_here else f"{one.name}@{one.project_slug}" for one, is_here in homes.items()]
    ask = "asks" if len(names) == 1 else "ask"
    return f"{listed(names, 'and')} {ask} {target.agent.name}: say which as from_agent." if names else ""


def _project_of_asking(tx: Tx, target: Actor, name: str) -> Project:
    """The target's own where an agent of that name has to do with it, else that of the only one elsewhere that asks;
    where nobody here has the name, of the only one that ever has.
    """
    links = tx.contacts.inbound_named(target.agent.id, name)
    home = target.project
    if any(link.source.project_id == home.id for link in links):
        return home
    waiting = [link for link in links if link.relation(tx.now) is Relation.PENDING]
    if not waiting and find_agent(tx, home.id, name) is None:
        waiting = links
    if len(waiting) > 1:
        keys = [link.source.project_key for link in waiting]
        raise AmbiguousSource(
            f"{len(waiting)} agents named {waiting[0].source.name} can be meant, of {listed(keys, 'and')}."[:1_000],
            hint="Say which by from_project.",
            data={"parameter": "from_project", "projects": keys},
        )
    found = tx.projects.find(waiting[0].source.project_id) if waiting else home
    assert found is not None, waiting
    return found


def _require_far(tx: Tx, project: Project, name: str) -> None:
    """Raise NoSuchTarget where the name is like one of the project, or nearly one elsewhere."""
    known = known_names(tx, project.id)
    near = known.nearest(name)
    near += near_elsewhere(tx, project, name)
    if near:
        raise NoSuchTarget(
            f"{project.human_key} has no agent {name!r:.100}.",
            hint=f"{did_you_mean(known.told(near))}register_if_missing=true registers it all the same.",
            data={"parameter": "to_agent", "unknown": [name[:100]], "nearest": near, "project": project.human_key},
            refused=name,
        )


def _addressed(tx: Tx, home: Project, text: str, project_key: str | None) -> tuple[str, Project]:
    address = parse_address(text)
    named = None if project_key is None else require_project(tx, project_key)
    project = named or home
    if address.project_key is not None:
        project = require_project(tx, address.project_key)
        if named is not None and named.id != project.id:
            raise AddressesDiffer(
                f"{text!r:.200} is of {project.human_key}, and the project named beside it is {named.human_key}.",
                hint="Give the project once.",
                data={"projects": [project.human_key, named.human_key]},
            )
    return recipient_name(address.name), project


def _make(
    tx: Tx, admission_request: AdmissionRequest, name: str, profile: Profile, enforcement: NameEnforcement
) -> Actor:
    """It is nobody's: the first to register the name gets its token. The one who asks for a contact never holds it."""
    project = admission_request.project
    program, model = profile.program or UNKNOWN, profile.model or UNKNOWN
    require_own_program(program)
    try:
        fit = name_to_register(name, enforcement, program=program, model=model)
    except UnfitName as unfit:
        unfit.hint, unfit.data["parameter"] = _whom_else(tx, project, name), "to_agent"
        raise
    if fit is None:
        raise _unknown(tx, project, name)
    agent = add_agent(
        tx,
        admission_request,
        NewAgent(
            project_id=project.id,
            kind=AgentKind.AGENT,
            name=fit,
            program=program,
            model=model,
            task_description=profile.task_description or "",
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        ),
    )
    record_event(tx, agent, None)
    return Actor(agent=agent, project=project)


def _whom_else(tx: Tx, project: Project, name: str) -> str:
    """Of a name that nobody can have: it is not the caller's own, which might be another or be left out."""
    hint = "list_agents shows who is there."
    return f"Did you mean {HUMAN}?" if means_person(name) else f"{told_present(present_names(tx, project))}{hint}"


def _unknown(tx: Tx, project: Project, name: str, shut: AdmissionRequest | None = None) -> RecipientNotFound:
    """`shut`: its door, where it is why the name could not be made."""
    known = known_names(tx, project.id)
    close = [*known.nearest(name), *near_elsewhere(tx, project, name)][:_NEAR]
    door = "" if shut is None else _who_lets_in(shut)
    return RecipientNotFound(
        f"{project.human_key} has no agent {name!r:.100}.",
        hint=f"{did_you_mean(known.told(close))}list_agents shows who is there.{door}",
        data={"unknown": [name[:100]], "nearest": close, "project": project.human_key},
    )


def _who_lets_in(admission_request: AdmissionRequest) -> str:
    whose = (
        "by the token of an agent of it, or by the operator"
        if admission_request.admission is ProjectAdmission.MEMBER
        else "by the operator alone"
    )
    return f" New names come in {whose} (PROJECT_ADMISSION={admission_request.admission.value})."
