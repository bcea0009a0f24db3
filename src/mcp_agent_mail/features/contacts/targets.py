"""Whom a contact request means: a name, an address, or an agent that is not there yet."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.errors import RecipientNotFound
from mcp_agent_mail.domain.addresses import parse_address
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.contacts import AddressesDiffer, ContactWithSelf
from mcp_agent_mail.domain.identity.admission import NotAdmitted, ProjectAdmission
from mcp_agent_mail.domain.identity.caller import Caller, ReservedIdentity
from mcp_agent_mail.domain.identity.names import (
    NameEnforcement,
    did_you_mean,
    name_to_register,
    nearest,
    recipient_name,
)
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.admission import AdmissionRequest, NamingRules, add_agent
from mcp_agent_mail.features.identity.lookup import require_agent
from mcp_agent_mail.features.identity.register import record_event
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.transaction import Tx

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is said of an agent that is registered because somebody asks for it."""

    program: str | None = None
    model: str | None = None
    task_description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactTarget:
    """`to_agent` may be an address. `register` holds the profile of a target that is not there; None: it must be."""

    project_key: str
    from_agent: str
    to_agent: str
    to_project: str | None
    register: Profile | None


def require_target(tx: Tx, caller: Caller, source: Actor, wanted: ContactTarget, rules: NamingRules) -> Actor:
    """The agent that is asked. Its project exists; the agent itself is made when it may be."""
    name, project = _addressed(tx, source.project, wanted.to_agent, wanted.to_project)
    require_writable(project)
    agent = tx.agents.find_by_name(project.id, name)
    if agent is None and wanted.register is not None:
        admission_request = AdmissionRequest(project=project, caller=caller, admission=rules.admission)
        try:
            return _make(tx, admission_request, name, wanted.register, rules.enforcement)
        except NotAdmitted as shut:
            # Who asks is there: what it needs to know is that its target is not, and will not be by its word.
            raise _unknown(tx, project, name, admission_request) from shut
    if agent is None or agent.kind is AgentKind.SYSTEM:
        raise _unknown(tx, project, name)
    if agent.id == source.agent.id:
        raise ContactWithSelf(
            f"{agent.name} may always write to itself.", hint="Name another agent.", data={"parameter": "to_agent"}
        )
    return Actor(agent=agent, project=project)


def require_source_of(tx: Tx, target: Actor, from_agent: str, from_project: str | None) -> Actor:
    """The agent whose request the target answers. Raises for one that is not there, and ContactWithSelf."""
    name, project = _addressed(tx, target.project, from_agent, from_project)
    agent = require_agent(tx, project, name)
    if agent.id == target.agent.id:
        raise ContactWithSelf(
            f"{agent.name} may always write to itself.", hint="Name another agent.", data={"parameter": "from_agent"}
        )
    if agent.kind is AgentKind.SYSTEM:
        raise ReservedIdentity("System is the server's own sender.", hint="Name a registered agent.")
    return Actor(agent=agent, project=require_writable(project))


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
    fit = name_to_register(name, enforcement, program=program, model=model)
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


def _unknown(tx: Tx, project: Project, name: str, shut: AdmissionRequest | None = None) -> RecipientNotFound:
    """`shut`: its door, where it is why the name could not be made."""
    close = nearest(name, tx.agents.names(project.id))
    return RecipientNotFound(
        f"{project.human_key} has no agent {name!r:.100}.",
        hint=f"{did_you_mean(close)}list_agents shows who is there.{'' if shut is None else _who_lets_in(shut)}",
        data={"unknown": [name[:100]], "nearest": close, "project": project.human_key},
    )


def _who_lets_in(admission_request: AdmissionRequest) -> str:
    whose = (
        "by the token of an agent of it, or by the operator"
        if admission_request.admission is ProjectAdmission.MEMBER
        else "by the operator alone"
    )
    return f" New names come in {whose} (PROJECT_ADMISSION={admission_request.admission.value})."
