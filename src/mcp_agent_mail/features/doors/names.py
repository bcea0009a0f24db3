"""From a name at a door to the agent that it is of, which is made where there is none; and who speaks as it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mcp_agent_mail.core.errors import AgentMailError, NotFound, RecipientNotFound
from mcp_agent_mail.core.ids import AGENT_TOKEN_PREFIX, AgentId, new_token, token_hash
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, ContactPolicy, NewAgent
from mcp_agent_mail.domain.doors.names import (
    Door,
    NameOfNoProject,
    UnknownWireName,
    WireName,
    plain_name,
    recipient_as_written,
    require_place,
    require_wire_name,
    wire_key,
)
from mcp_agent_mail.domain.identity.admission import ProjectAdmission
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, require_to_act
from mcp_agent_mail.domain.identity.names import (
    candidate_names,
    first_free,
    has_names_form,
    is_generated_form,
    recipient_name,
)
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.doors.correspondents import require_no_correspondent, told_full_names
from mcp_agent_mail.features.doors.told_names import Tells
from mcp_agent_mail.features.identity.actor import Actor, require_not_put_away
from mcp_agent_mail.features.identity.admission import AdmissionRequest, add_agent
from mcp_agent_mail.features.identity.door_callers import is_mailbox, is_unspoken, newcomers_caller, resolve_door_caller
from mcp_agent_mail.features.identity.register import record_event
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.transaction import Tx, View

_MODEL = "unknown"
MAX_FORMER = 8
"""Names that one mailbox had before."""


class MissingNames(Exception):
    """Undoes a unit of work that lacks what it may not make or draw itself: with that it is run again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingRule:
    """By which rules names come in by doors."""

    auth: AgentAuth
    admission: ProjectAdmission
    mailboxes_max: int
    """Of one project, those that doors have made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameSupplies:
    """What making names needs and a unit of work may not draw itself. `candidates` are None where none were drawn."""

    rule: NamingRule
    candidates: Sequence[str] | None
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorActor:
    """Who speaks by a door, as whom."""

    caller: Caller
    actor: Actor
    wire_name: WireName


def draw_supplies(rule: NamingRule, choose: Callable[[Sequence[str]], str] | None) -> NameSupplies:
    """A new set for each call; without `choose` no names are drawn. The token is told to nobody: what a door owns is
    not to be had by registering.
    """
    candidates = None if choose is None else candidate_names(choose)
    return NameSupplies(rule=rule, candidates=candidates, token=new_token(AGENT_TOKEN_PREFIX))


def find_agent(view: View, project: Project, name: str) -> Agent | None:
    """The agent of a name that some door knows, else of a native one; Human too. System gets no mail."""
    return _find(view, project, name)[0]


def _find(view: View, project: Project, name: str) -> tuple[Agent | None, WireName | None]:
    """The agent, and what doors know of the name."""
    known = view.wire_names.find(project.id, name)
    if known is not None:
        return view.agents.find(known.agent_id), known
    agent = view.agents.find_by_name(project.id, recipient_name(plain_name(name)))
    if agent is None or agent.kind is AgentKind.SYSTEM:
        return None, None
    return (None if has_other_name(view, agent) else agent), None


def is_former(view: View, known: WireName) -> bool:
    """A rename has left it: mail to it goes to the mailbox that had it, until somebody speaks as it. So it is nobody's
    own beside one that is a door's.
    """
    if known.owner is not None or known.linked:
        return False
    agent = view.agents.find(known.agent_id)
    assert agent is not None, known
    if is_generated_form(agent.name) and wire_key(agent.name) == wire_key(known.name):
        return False  # By that agents of this server know the mailbox: it stays its own.
    return any(one.owner is not None for one in view.wire_names.of_agent(known.agent_id))


def is_nobodys(view: View, project: Project, name: str) -> bool:
    """Nobody has the name now, whoever had it before."""
    agent, known = _find(view, project, name)
    return agent is None or (known is not None and is_former(view, known))


def free_former(tx: Tx, project: Project, name: str) -> None:
    """Somebody has the name from now on: where a rename has left it, it leads nowhere any more."""
    known = tx.wire_names.find(project.id, name)
    if known is not None and is_former(tx, known):
        _forget(tx, known)


def _forget(tx: Tx, known: WireName) -> None:
    agent = tx.agents.find(known.agent_id)
    assert agent is not None, known
    tx.wire_names.remove(known)
    record_event(tx, agent, None)


def give_name(tx: Tx, known: WireName, name: str, by: AgentId | None) -> None:
    """Call the mailbox so, where nobody is; `by` is who does. Mail to its former name goes to it until somebody speaks
    as that, of the last MAX_FORMER names; there is none of a mailbox that nobody has spoken as.
    """
    agent = tx.agents.find(known.agent_id)
    assert agent is not None, known
    tx.wire_names.rename(known, name)
    if known.owner is not None and wire_key(name) != wire_key(known.name):
        tx.require_room()
        former = [one for one in tx.wire_names.of_agent(agent.id) if is_former(tx, one)]
        for one in former[: max(0, len(former) - MAX_FORMER + 1)]:
            tx.wire_names.remove(one)
        tx.wire_names.add(known.project_id, agent.id, known.name, tx.now)
    record_event(tx, agent, by)


def has_other_name(view: View, agent: Agent) -> bool:
    """Its mailbox was made by its native name and is called something else by now: at doors the former one is free."""
    is_own_name = not is_generated_form(agent.name)
    return is_own_name and any(known.owner is not None for known in view.wire_names.of_agent(agent.id))


def ensure_agent(tx: Tx, project: Project, door: Door, name: str, supplies: NameSupplies) -> Agent:
    """The agent of the name, which is made with a mailbox of its own where there is none. Raises UnfitWireName, and
    MissingNames where one must be.
    """
    return _ensure(tx, project, door, name, supplies)[0]


def _ensure(tx: Tx, project: Project, door: Door, name: str, supplies: NameSupplies) -> tuple[Agent, WireName | None]:
    """The agent, and what doors know of the name: None of a native one that no door has named yet."""
    written = require_wire_name(door, name)
    found, known = _find(tx, project, written)
    if known is not None and is_former(tx, known):
        _forget(tx, known)
        found, known = _find(tx, project, written)
    if found is None:
        return _make(tx, project, door, written, supplies)
    require_not_put_away(tx, found, project)
    return _brought_back(tx, project, found), known


def _make(tx: Tx, project: Project, door: Door, written: str, supplies: NameSupplies) -> tuple[Agent, WireName]:
    agent = _add_agent(tx, project, door, written, supplies)
    added = tx.wire_names.add(project.id, agent.id, written, tx.now)
    record_event(tx, agent, None)
    return agent, added


def ensure_recipient(tx: Tx, speaker: DoorActor, door: Door, name: str, supplies: NameSupplies, tells: Tells) -> Agent:
    """Who is written to: as `ensure_agent`. Of a name that nobody has in the speaker's project `Name@project` is an
    agent of that project, by whichever of its names; the own one may be said, too. Raises UnfitWireName and
    MissingNames; AmbiguousCorrespondent for a bare one under which another project's agent has written to the speaker;
    RecipientNotFound where that project has none that the speaker is told of, or there is none (at postal
    NameOfNoProject).
    """
    home, written = speaker.actor.project, recipient_as_written(door, name)
    # AgentMail makes mailboxes for windows of the speaker's own session: who has the name is at home.
    is_window = door is Door.AGENTMAIL
    found, called = _find(tx, home, written)
    if found is not None and (is_window or _is_somebodys(tx, found, called)):
        return _brought_back(tx, home, found)
    elsewhere = _find_elsewhere(tx, written)
    if elsewhere is None:
        if not is_window:
            require_no_correspondent(tx, speaker.actor.agent, home, written)
            if "@" in written:
                raise _of_no_project(tx, home, door, written, tells)
        return _at_home(tx, home, door, written, found, supplies)
    project, plain = elsewhere
    if project.id == home.id and not is_window:
        return _at_home(tx, home, door, plain, find_agent(tx, home, plain), supplies)
    agent = find_agent(tx, project, plain)
    if agent is None or not tells(agent):
        raise RecipientNotFound(
            f"{project.slug} knows nobody by the name {plain!r:.100}.",
            hint="Nothing was sent. A name without @ is one of your own project.",
            data={"name": name[:100], "project": project.slug},
        )
    return agent


def _at_home(tx: Tx, home: Project, door: Door, name: str, found: Agent | None, supplies: NameSupplies) -> Agent:
    if found is not None:
        return _brought_back(tx, home, found)
    return _make(tx, home, door, require_wire_name(door, name), supplies)[0]


def _is_somebodys(view: View, agent: Agent, called: WireName | None) -> bool:
    """Nobody means a mailbox that nobody has, where there is another of that name to be meant. `called` is the name at
    doors by which the agent was found: almost always it has an owner, and nothing more is looked up.
    """
    return (called is not None and called.owner is not None) or not is_unspoken(view, agent)


def _of_no_project(view: View, home: Project, door: Door, name: str, tells: Tells) -> AgentMailError:
    """No mailbox is made of an address: mail to it would wait for nobody."""
    plain, _, key = name.partition("@")
    hint = told_full_names(view, home, name, find_agent(view, home, plain), tells)
    data = {"name": name[:100], "project": key[:100]}
    if door is Door.POSTAL:
        return NameOfNoProject("Invalid agent name.", hint=hint, data=data)
    return RecipientNotFound(f"{name!r:.100}: there is no project {key!r:.100}.", hint=hint, data=data)


def require_known(view: View, speaker: DoorActor, name: str, tells: Tells) -> Agent:
    """The agent of a name that the speaker's project knows already, or of `Name@project`. Raises AmbiguousCorrespondent
    as `ensure_recipient` does, and UnknownWireName, also where the speaker is not told of it.
    """
    project = speaker.actor.project
    at_home, called = _find(view, project, name)
    found = at_home if at_home is not None and _is_somebodys(view, at_home, called) else None
    if found is None and (elsewhere := _find_elsewhere(view, name)) is not None:
        found = find_agent(view, *elsewhere)
    elif found is None:
        require_no_correspondent(view, speaker.actor.agent, project, name)
        found = None if "@" in name else at_home
    if found is None or not tells(found):
        plain = find_agent(view, project, name.partition("@")[0])
        hint = told_full_names(view, project, name, plain, tells) if "@" in name else ""
        raise UnknownWireName("recipient not found", hint=hint, data={"name": name[:100], "project": project.human_key})
    return found


def _find_elsewhere(view: View, name: str) -> tuple[Project, str] | None:
    """The project that a name says, and the name there. None for what is no project's path or slug."""
    plain, _, key = name.partition("@")
    if not plain or not key:
        return None
    try:
        return require_writable(require_project(view, key)), plain
    except NotFound:
        return None


def _brought_back(tx: Tx, project: Project, agent: Agent) -> Agent:
    """A door's mailbox that had retired is there again for whoever writes to it. Raises AgentRetired."""
    if not agent.is_retired or all(known.owner is None for known in tx.wire_names.of_agent(agent.id)):
        return agent
    require_not_put_away(tx, agent, project)
    back = tx.agents.set_retired(agent.id, None, tx.now)
    record_event(tx, back, None)
    return back


def ensure_wire_name(tx: Tx, project: Project, name: str, agent: Agent) -> WireName:
    """The agent's name at doors: its native one where no door has named it yet."""
    return tx.wire_names.find(project.id, name) or _name_natively(tx, project, agent)


def _name_natively(tx: Tx, project: Project, agent: Agent) -> WireName:
    tx.require_room()
    added = tx.wire_names.add(project.id, agent.id, agent.name, tx.now)
    record_event(tx, agent, None)
    return added


def speak_as(tx: Tx, project: Project, door: Door, name: str, supplies: NameSupplies) -> DoorActor:
    """Who calls by the name: a mailbox that nobody had is the door's own by that, and one of its own that had retired
    comes back. Raises UnfitWireName, ReservedIdentity, NameOwnedElsewhere, DoorNotLinked, and MissingNames.
    """
    agent, known = _ensure(tx, project, door, name, supplies)
    if agent.kind is not AgentKind.AGENT:
        require_to_act(newcomers_caller(supplies.rule.auth), agent)
    if known is None:
        known = _name_natively(tx, project, agent)
    caller, becomes_own = resolve_door_caller(tx, door, known, agent, supplies.rule.auth)
    if becomes_own:
        known = tx.wire_names.own(known, door)
        tx.agents.set_token_hash(agent.id, token_hash(supplies.token))
        record_event(tx, agent, None)
    if known.owner is door and (agent.is_retired or is_shut(agent)):
        agent = tx.agents.set_retired(agent.id, None, tx.now)
        if is_shut(agent):
            agent = tx.agents.set_contact_policy(agent.id, ContactPolicy.OPEN, tx.now)
        record_event(tx, agent, agent.id)
    actor = Actor(agent=agent, project=project, verified=require_to_act(caller, agent))
    return DoorActor(caller=caller, actor=actor, wire_name=known)


def is_shut(agent: Agent) -> bool:
    """A mailbox that was made before mailboxes were open: nobody has chosen who may write to it."""
    return is_mailbox(agent) and agent.contact_policy is ContactPolicy.AUTO


def _add_agent(tx: Tx, project: Project, door: Door, name: str, supplies: NameSupplies) -> Agent:
    """Under the name itself where it can be an agent's and is free, else under a generated one. It has no token:
    whoever speaks as it first, at a door or natively, has it. Anybody may write to it: at a door nobody can be asked.
    """

    def is_taken(candidate: str) -> bool:
        is_native = tx.agents.find_by_name(project.id, candidate) is not None
        return is_native or tx.wire_names.find(project.id, candidate) is not None

    made = tx.mailboxes.count_made(project.id, tx.now)
    require_place(name, project.slug, made=made, limit=supplies.rule.mailboxes_max)
    if has_names_form(name) and not is_taken(name):
        native = name
    elif supplies.candidates is None:
        raise MissingNames
    else:
        native = first_free(supplies.candidates, is_taken)
    admission_request = AdmissionRequest(
        project=project,
        caller=newcomers_caller(supplies.rule.auth),
        admission=supplies.rule.admission,
        name=native,
    )
    new = NewAgent(
        project_id=project.id,
        kind=AgentKind.AGENT,
        name=native,
        program=door.value,
        model=_MODEL,
        task_description="",
        attachments_policy=AttachmentsPolicy.AUTO,
        token_hash=None,
    )
    added = add_agent(tx, admission_request, new)
    return tx.agents.set_contact_policy(added.id, ContactPolicy.OPEN, tx.now)
