"""Who may see what.

Within a project every agent reads all of its mail: what was sent from there, and what was sent
to or cc somebody there. A blind copy to another project is its recipient's alone. Whoever is
proven to belong to another project reads only what it takes part in, unless a product links the two.
"""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, require_to_act
from mcp_agent_mail.domain.identity.names import UnknownAgent, did_you_mean
from mcp_agent_mail.domain.identity.readership import READING_MAIL, Readership, may_read, require_to_read
from mcp_agent_mail.domain.messages import Message
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.actor import Actor, require_not_left
from mcp_agent_mail.features.identity.delivery_hooks import WithActivity
from mcp_agent_mail.features.identity.lookup import find_everywhere, likely_agents, names_everywhere, require_agent
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.mail.attachments import Carrier
from mcp_agent_mail.store.transaction import View


class UnknownMessage(NotFound):
    """No message of this id that the caller may see."""


class NotItsSender(PermissionDenied):
    """What is for a message's sender alone was asked by somebody else."""


class AmbiguousAgent(InvalidInput):
    """Several projects have an agent of this name, and none was named."""


def find_mailbox(view: View, agent_name: str, project_key: str | None) -> tuple[Agent, Project]:
    """The agent and its project. Without a project the name must be unique among the projects that are not archived:
    raises AmbiguousAgent.
    """
    if project_key is not None:
        named = require_project(view, project_key)
        return require_agent(view, named, agent_name), named
    namesakes = find_everywhere(view, agent_name)
    if not namesakes:
        close = names_everywhere(view, agent_name)
        otherwise = "list_agents shows a project's agents; add ?project=<path or slug> for an archived project."
        raise UnknownAgent(
            f"No project has an agent {agent_name.strip()!r:.100}.",
            hint=f"{did_you_mean(close)}{otherwise}",
            data={"agent": agent_name[:100], "nearest": close},
        )
    projects = [project for one in namesakes if (project := view.projects.find(one.project_id)) is not None]
    if len(namesakes) > 1:
        slugs = [project.slug for project in projects]
        raise AmbiguousAgent(
            f"{namesakes[0].name} is an agent of {len(namesakes)} projects.",
            hint=f"Add ?project= with one of: {', '.join(slugs[:10])}.",
            data={"projects": [{"slug": p.slug, "human_key": p.human_key} for p in projects]},
        )
    return namesakes[0], projects[0]


def find_home(view: View, caller: Caller, agent_name: str, with_activity: WithActivity) -> str | None:
    """The human key of the project whose agent of this name is meant where none is named: the caller's own, else that
    of whoever was active last. None where there is none. Archived projects do not count, nor retired agents where
    there are others.
    """
    namesakes = find_everywhere(view, agent_name)
    meant = [agent for agent in namesakes if agent.id == caller.agent_id] or likely_agents(namesakes)
    latest = max(with_activity(meant), key=lambda agent: (agent.last_active_ts, agent.id), default=None)
    home = None if latest is None else view.projects.find(latest.project_id)
    return None if home is None else home.human_key


def open_inbox(view: View, caller: Caller, agent_name: str, project_key: str | None) -> Actor:
    """One's own inbox (the operator: anyone's): it shows blind copies, so it is read by acting as the agent."""
    agent, project = find_mailbox(view, agent_name, project_key)
    verified = may_read(caller, project, Readership.OWN, [agent.id]) or require_to_act(caller, agent)
    if not verified:
        require_not_left(view, agent, agent_name)
    return Actor(agent=agent, project=project, verified=verified)


def open_outbox(view: View, caller: Caller, agent_name: str, project_key: str | None) -> Actor:
    """What an agent sent is project mail; `verified` tells whether blind recipients may be shown."""
    agent, project = find_mailbox(view, agent_name, project_key)
    require_to_read(caller, project, READING_MAIL)
    return Actor(agent=agent, project=project, verified=may_read(caller, project, Readership.OWN, [agent.id]))


def require_message(view: View, message_id: MessageId, reader: Agent) -> Message:
    """The message, when its project's mail or its recipients include the reader; else it does not exist for it, but
    that its recipient is told what it waits for.
    """
    message = view.messages.find(message_id)
    if message is None or not is_visible_to(view, message, reader):
        raise unseen_message(view, message_id, reader)
    return message


def require_own_message(view: View, message_id: MessageId, sender: Actor, act: str) -> Message:
    """A message that the agent sent. Raises UnknownMessage for one that it may not see, NotItsSender for another's;
    `act` is the verb for what only a sender does.
    """
    message = require_message(view, message_id, sender.agent)
    if message.sender_id != sender.agent.id:
        raise NotItsSender(
            f"{sender.agent.name} did not send message {message_id}: only its sender can {act} it.",
            hint="Answer it with reply_message instead.",
            data={"message_id": message_id},
        )
    return message


def is_visible_to(view: View, message: Message | Carrier, reader: Agent) -> bool:
    return view.messages.is_open_to(message.id, reader.project_id) or is_party(view, message, reader.id)


def is_visible_from(view: View, caller: Caller, message: Message | Carrier, project: Project) -> bool:
    """Whether the caller, looking at `project`, may read the message: as one of its parties, or as a reader of the
    project's mail.
    """
    reader = caller.agent_id
    parties = () if reader is None or not is_party(view, message, reader) else (reader,)
    record = Readership.WORK if view.messages.is_open_to(message.id, project.id) else Readership.OWN
    return may_read(caller, project, record, parties)


def is_party(view: View, message: Message | Carrier, agent_id: AgentId) -> bool:
    return message.sender_id == agent_id or view.messages.is_recipient(message.id, agent_id)


HELD_HINT = "It comes once you approve its sender: respond_contact(accept=true) answers the request in your inbox."


def unseen_message(view: View, message_id: MessageId, reader: Agent | None) -> UnknownMessage:
    """As `unknown_message`; for the reader whose copy waits for its consent it says so, as an acknowledgement does."""
    if reader is None or not view.held.is_held(message_id, reader.id):
        return unknown_message(message_id)
    return UnknownMessage(
        f"Message {message_id} is held until you consent.",
        hint=HELD_HINT,
        data={"message_id": message_id, "reason": "held"},
    )


def unknown_message(message_id: int) -> UnknownMessage:
    """The refusal, in the same words for a message that is not there and one that the caller may not see."""
    return UnknownMessage(
        f"No message {message_id} is to be seen here.",
        hint="Ids come from fetch_inbox, search_messages and send_message.",
        data={"message_id": message_id},
    )
