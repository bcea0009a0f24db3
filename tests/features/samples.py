"""Agents, projects, mail and leases as they would be stored, for what is shown or decided without a store."""

from __future__ import annotations

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import AgentId, LeaseId, MessageId, ProjectId
from mcp_agent_mail.domain.agents import Agent, AgentKind, AgentStatus, AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.messages import (
    Importance,
    InboxEntry,
    Message,
    MessageHead,
    Recipient,
    RecipientKind,
)
from mcp_agent_mail.domain.projects import Project

NOW = Micros(1_800_000_000 * SECOND)
NOW_TEXT = "2027-01-15T08:00:00.000000+00:00"
OPEN = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
STRICT = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)
APP = Project(id=ProjectId(7), slug="code-app", human_key="/code/app", created_ts=NOW, archived_ts=None)
LIB = Project(id=ProjectId(8), slug="code-lib", human_key="/code/lib", created_ts=NOW, archived_ts=None)


def an_agent(number: int = 1, name: str = "BlueLake", *, project: Project = APP, retired: bool = False) -> Agent:
    return Agent(
        id=AgentId(number),
        project_id=project.id,
        kind=AgentKind.AGENT,
        name=name,
        program="p",
        model="m",
        task_description="",
        inception_ts=NOW,
        last_active_ts=NOW,
        profiled_ts=NOW,
        contact_policy=ContactPolicy.AUTO,
        attachments_policy=AttachmentsPolicy.AUTO,
        status=AgentStatus.READY,
        status_note=None,
        status_ts=None,
        retired_ts=NOW if retired else None,
        unread_count=0,
        open_unread_count=0,
    )


def a_message(
    number: int = 1,
    *,
    subject: str = "Plan",
    project: Project = APP,
    thread_id: str | None = None,
    reply_to: int | None = None,
    is_private: bool = False,
) -> Message:
    """From BlueLake."""
    return Message(
        id=MessageId(number),
        project_id=project.id,
        project_slug=project.slug,
        project_key=project.human_key,
        sender_id=AgentId(1),
        sender_name="BlueLake",
        thread_id=thread_id,
        topic=None,
        subject=subject,
        body_md="body",
        importance=Importance.NORMAL,
        ack_required=False,
        created_ts=NOW,
        reply_to=None if reply_to is None else MessageId(reply_to),
        is_system=False,
        is_private=is_private,
    )


def a_head(
    number: int = 1, *, project: Project = APP, reply_to: int | None = None, is_system: bool = False
) -> MessageHead:
    """From BlueLake, as lists show it."""
    return MessageHead(
        id=MessageId(number),
        project_id=project.id,
        project_slug=project.slug,
        sender_name="BlueLake",
        thread_id=None,
        topic=None,
        subject="Plan",
        importance="normal",
        ack_required=False,
        created_ts=NOW,
        reply_to=None if reply_to is None else MessageId(reply_to),
        is_system=is_system,
        body_bytes=4,
    )


def an_entry(number: int = 1, *, read_ts: Micros | None = None) -> InboxEntry:
    return InboxEntry(a_head(number), "to", number, NOW, read_ts, None, None, None, None, None, 0, NOW)


def a_recipient(name: str, kind: RecipientKind = RecipientKind.TO, *, project: Project = APP) -> Recipient:
    """That got its copy."""
    return Recipient(
        message_id=MessageId(1),
        agent_id=AgentId(2),
        project_id=project.id,
        project_slug=project.slug,
        name=name,
        kind=kind,
        position=0,
        delivery_seq=1,
        delivered_ts=NOW,
        read_ts=None,
        ack_ts=None,
        last_active_ts=NOW,
    )


def a_lease(number: int = 1, agent: str = "BlueLake", pattern: str = "src/**", *, exclusive: bool = True) -> Lease:
    """Live for an hour."""
    return Lease(
        id=LeaseId(number),
        project_id=APP.id,
        agent_id=AgentId(1),
        agent=agent,
        kind=LeaseKind.FILE,
        path_pattern=pattern,
        is_folder=False,
        ignore_case=False,
        exclusive=exclusive,
        reason="work",
        branch=None,
        created_ts=NOW,
        expires_ts=Micros(NOW + 3_600 * SECOND),
        released_ts=None,
        ended_by=None,
        evidence=None,
        fencing=number,
    )
