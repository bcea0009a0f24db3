"""Units of work and looks of mailboxes: another name, the list, and how a mailbox retires."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.doors.mailbox_rules import (
    IdleRules,
    MissingMailbox,
    NameNotOwned,
    UsedName,
    idle_since,
    is_listed,
    may_retire,
    require_nothing_pending,
)
from mcp_agent_mail.domain.doors.names import Door, UnknownWireName, WireName, plain_name, shown_to, wire_key
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import recipient_name
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.doors.names import free_former, give_name, has_other_name, is_former, is_nobodys
from mcp_agent_mail.features.doors.results import Mailbox, MailboxList, NameChange
from mcp_agent_mail.features.doors.told_names import listed
from mcp_agent_mail.features.identity.actor import require_not_put_away
from mcp_agent_mail.features.identity.door_callers import is_unspoken, require_unbound, resolve_door_caller
from mcp_agent_mail.features.identity.register import record_event
from mcp_agent_mail.store.transaction import Tx, View

MAX_LISTED = 500
_LOOKED_AT = 2_000
"""Of a project, the agents that were active last."""

WithActivity = Callable[[Iterable[Agent]], list[Agent]]


def require_source(view: View, project: Project | None, door: Door, name: str) -> WireName:
    """The name that is to be another. Raises MissingMailbox, NameNotOwned and AgentRetired."""
    known = None if project is None else view.wire_names.find(project.id, name)
    if known is None or project is None or is_former(view, known):
        if project is not None and not is_nobodys(view, project, name):
            raise _not_ours(name)
        raise MissingMailbox(
            f"There is no mailbox {name!r:.100}.",
            hint="It comes with the first call by its name.",
            data={"name": name[:100]},
        )
    if known.owner is not door:
        raise _not_ours(known.name)
    agent = view.agents.find(known.agent_id)
    assert agent is not None, known
    require_not_put_away(view, agent, project)
    return known


def _not_ours(name: str) -> NameNotOwned:
    return NameNotOwned(
        f"{name!r:.100} is an agent of this server, or another door's: its name stays.",
        hint="Use a mailbox of your own, and another name.",
        data={"name": name[:100]},
    )


def rename(tx: Tx, project: Project | None, door: Door, name: str, to: str) -> NameChange:
    """The mailbox, its mail and its history are called `to` from now on. The same name in another spelling is kept
    as it is. Raises MissingMailbox, NameNotOwned, UsedName, WrongToken.
    """
    known = require_source(tx, project, door, name)
    renamed = tx.agents.find(known.agent_id)
    assert renamed is not None, known
    require_unbound(tx, renamed)
    if wire_key(to) == wire_key(known.name):
        return NameChange(former=known.name, name=known.name)
    assert project is not None, known
    free_former(tx, project, to)
    if _is_taken(tx, known, to):
        raise UsedName(
            f"There is a mailbox or an agent {to!r:.100} already.",
            hint="Choose another name.",
            data={"name": to[:100]},
        )
    give_name(tx, known, to, known.agent_id)
    return NameChange(former=known.name, name=to, transferred=tx.pops.count_waiting(known.agent_id))


def _is_taken(view: View, known: WireName, to: str) -> bool:
    if view.wire_names.find(known.project_id, to) is not None:
        return True
    native = view.agents.find_by_name(known.project_id, recipient_name(plain_name(to)))
    return native is not None and native.id != known.agent_id and not has_other_name(view, native)


def find_new_name(view: View, project: Project, door: Door, name: str, agent_id: AgentId) -> str | None:
    """What the agent's mailbox is called, where it is not this name any more."""
    known = view.wire_names.find(project.id, name)
    if known is not None and known.agent_id == agent_id and not is_former(view, known):
        return None
    native = view.agents.find(agent_id)
    assert native is not None, agent_id
    return shown_to(door, view.wire_names.of_agent(agent_id)) or native.name


def find_renamed(view: View, project: Project | None, door: Door, name: str) -> str | None:
    """What the mailbox is called that came by this name and has another one now, where the door owns it."""
    if project is None:
        return None
    former = view.wire_names.find(project.id, name)
    if former is not None and is_former(view, former):
        agent_id = former.agent_id
    else:
        native = view.agents.find_by_name(project.id, name)
        if native is None or not has_other_name(view, native):
            return None
        agent_id = native.id
    own = [known for known in view.wire_names.of_agent(agent_id) if known.owner is door]
    other = shown_to(door, own)
    return None if other is None or wire_key(other) == wire_key(name) else other


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAsked:
    """At which door a list is asked for, by whom, None for nobody, and how names come in there."""

    door: Door
    caller: Agent | None
    auth: AgentAuth


def list_mailboxes(
    view: View, project: Project, asked: ListAsked, rules: IdleRules, with_activity: WithActivity
) -> MailboxList:
    """Of a project. Changes nothing."""
    door, caller = asked.door, asked.caller
    everybody = view.agents.list_(project.id, limit=_LOOKED_AT)
    stored = listed(view, project, door, asked.auth, everybody)
    agents = sorted(with_activity(stored), key=lambda one: (-one.last_active_ts, -one.id))
    from_each = {} if caller is None else view.mailboxes.pending_from(caller.id)
    shown = [
        agent
        for agent in agents
        if is_listed(
            last_seen_ts=agent.last_active_ts,
            now=view.now,
            rules=rules,
            is_callers=caller is not None and agent.id == caller.id,
            pending_for_caller=from_each.get(agent.id, 0),
        )
    ]
    mailboxes = [
        Mailbox(
            name=shown_to(door, view.wire_names.of_agent(agent.id)) or agent.name,
            last_seen_ts=None if is_unspoken(view, agent) else agent.last_active_ts,
            pending=view.pops.count_waiting(agent.id) if agent.unread_count else 0,
            pending_for_caller=from_each.get(agent.id, 0),
        )
        for agent in shown[:MAX_LISTED]
    ]
    mailboxes.sort(key=lambda one: one.last_seen_ts is None)
    total = view.agents.count(project.id) if len(stored) == len(everybody) else len(stored)
    return MailboxList(mailboxes=mailboxes, total=total)


def retire(tx: Tx, project: Project | None, door: Door, name: str, auth: AgentAuth) -> bool:
    """The mailbox leaves lists; its mail and history stay, and the next call by its name, or to it, brings it back.
    False where it had retired. Raises UnknownWireName, NameNotOwned, MailPending, and what speaking as it raises.
    """
    known = None if project is None else tx.wire_names.find(project.id, name)
    agent = None if known is None or is_former(tx, known) else tx.agents.find(known.agent_id)
    if known is None or agent is None:
        raise UnknownWireName(f"There is no mailbox {name!r:.100}.", data={"name": name[:100]})
    _, becomes_own = resolve_door_caller(tx, door, known, agent, auth)
    if known.owner is not door and not becomes_own:
        raise _not_ours(known.name)
    require_nothing_pending(
        known.name,
        pending=tx.pops.count_waiting(agent.id),
        is_sent_pending=tx.mailboxes.has_sent_unread(agent.id),
    )
    if agent.is_retired or agent.kind is not AgentKind.AGENT:
        return False
    record_event(tx, tx.agents.set_retired(agent.id, tx.now, tx.now), agent.id)
    return True


IDLE_AT_ONCE = 100


def retire_idle(
    tx: Tx, door: Door, rules: IdleRules, after: int, is_waited_for: Callable[[AgentId], bool]
) -> tuple[int, int | None]:
    """Retire those of IDLE_AT_ONCE names above `after` whose mailboxes have long been idle: how many did, and the
    number to go on after, None at the end.
    """
    before = idle_since(tx.now, rules.retire_after_minutes)
    found = [] if before is None else tx.mailboxes.idle(door, before, after=after, limit=IDLE_AT_ONCE)
    retired = 0
    for _, agent_id in found:
        if may_retire(pending=tx.pops.count_waiting(agent_id), is_waiting=is_waited_for(agent_id)):
            record_event(tx, tx.agents.set_retired(agent_id, tx.now, tx.now), None)
            retired += 1
    return retired, found[-1][0] if len(found) == IDLE_AT_ONCE else None
