"""The archive's file format: snapshots of domain values, and from an event its files, path and bytes.

Pure. Whoever renders the same values again gets the same bytes, which is how `am doctor verify`
checks an archive. docs/reference/archive-format.md describes the result for readers.

Snapshots are made inside the unit of work that changes the state; they hold times as integers
and names as they were, so that rendering needs nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import Message, Recipient
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.receipts import Receipt

Snapshot = dict[str, Any]  # JSON: the keys stand in the functions below


def project_snapshot(project: Project) -> Snapshot:
    return {
        "id": project.id,
        "slug": project.slug,
        "human_key": project.human_key,
        "created_ts": project.created_ts,
        "archived_ts": project.archived_ts,
    }


def profile_snapshot(agent: Agent) -> Snapshot:
    """Without token and presence. Its activity is the time of the change, so that it can be written again."""
    return {
        "id": agent.id,
        "kind": agent.kind.value,
        "name": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task_description": agent.task_description,
        "inception_ts": agent.inception_ts,
        "profiled_ts": agent.profiled_ts,
        "retired_ts": agent.retired_ts,
        "project_id": agent.project_id,
        "contact_policy": agent.contact_policy.value,
        "attachments_policy": agent.attachments_policy.value,
    }


def mail_snapshot(message: Message, recipients: Sequence[Recipient], project_id: ProjectId) -> Snapshot:
    """For the archive of `project_id`: the sender's project, or one that has recipients.

    `recipients` are all of the message's, whatever their project.
    """
    return {
        "archive_project_id": project_id,
        "id": message.id,
        "project_id": message.project_id,
        "project_slug": message.project_slug,
        "project": message.project_key,
        "sender_id": message.sender_id,
        "sender": message.sender_name,
        "thread_id": message.thread_id,
        "topic": message.topic,
        "subject": message.subject,
        "body_md": message.body_md,
        "importance": message.importance.value,
        "ack_required": message.ack_required,
        "created_ts": message.created_ts,
        "reply_to": message.reply_to,
        "is_system": message.is_system,
        "recipients": [
            {
                "agent_id": recipient.agent_id,
                "project_id": recipient.project_id,
                "project_slug": recipient.project_slug,
                "name": recipient.name,
                "kind": recipient.kind.value,
                "delivery_seq": recipient.delivery_seq,
                "delivered_ts": recipient.delivered_ts,
            }
            for recipient in sorted(recipients, key=lambda recipient: recipient.position)
        ],
    }


def receipt_snapshot(receipt: Receipt) -> Snapshot:
    """One line of the archive of the recipient's project."""
    return {
        "message_id": receipt.message_id,
        "agent_id": receipt.agent_id,
        "agent": receipt.agent,
        "step": receipt.step.value,
        "ts": receipt.at,
    }
