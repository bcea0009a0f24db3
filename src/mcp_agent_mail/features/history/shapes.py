"""Looks back as they are shown. Keys are a wire contract."""

from __future__ import annotations

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedAgent
from mcp_agent_mail.features.history.results import AgentHistory, HeldLease, MessageHistory, PastInbox
from mcp_agent_mail.features.messaging.shapes import show_inbox_item

_COMMIT_DIGITS = 12


def show_message_history(history: MessageHistory) -> JsonObject:
    """`commit` is 12 digits of the one in `archive` that says so; both null while Git has yet to get it. What was sent
    to replace another message has `supersedes`, a copy that was withdrawn for one `superseded_by`.
    """
    seen_from = history.project.id
    return {
        "message_id": history.message.id,
        "project": history.project.human_key,
        "subject": history.message.subject,
        "total": history.total,
        "events": [
            {
                "ts": iso(one.ts),
                "event": one.event.value,
                "agent": None
                if one.agent is None
                else shown_name(one.agent.name, one.agent.project_id, one.agent.project_slug, seen_from),
                "commit": _short(one.hexsha),
                "archive": one.archive,
                **({} if one.supersedes is None else {"supersedes": one.supersedes}),
                **({} if one.superseded_by is None else {"superseded_by": one.superseded_by}),
            }
            for one in history.events
        ],
    }


def show_agent_history(history: AgentHistory) -> JsonObject:
    """Each change with all that the agent was from then on, newest first."""
    return {
        "agent": history.agent.name,
        "project": history.project.human_key,
        "events": [
            {
                "ts": iso(one.ts),
                "event": one.event.value,
                "changed": [_SHOWN_AS.get(name, name) for name in one.changed],
                **_show_profile(one.profile),
                "commit": _short(one.hexsha),
            }
            for one in history.changes
        ],
    }


_SHOWN_AS = {"retired_ts": "retired_at", "is_unclaimed": "unclaimed", "retired_by_operator": "retired_by"}


def _show_profile(profile: ArchivedAgent | None) -> JsonObject:
    """Null throughout where the file could not be read."""
    return {
        "name": profile and profile.name,
        "program": profile and profile.program,
        "model": profile and profile.model,
        "task_description": profile and profile.task_description,
        "contact_policy": profile and profile.contact_policy.value,
        "attachments_policy": profile and profile.attachments_policy.value,
        "retired_at": profile and iso_or_none(profile.retired_ts),
        "project_id": profile and profile.project_id,
    }


def show_past_inbox(inbox: PastInbox) -> list[JsonObject]:
    """Items as an inbox shows them. One that was purged since has `purged_at`, and `body_missing` with the reason where
    Git has no text of it.
    """
    shown = []
    for entry in inbox.entries:
        item = show_inbox_item(entry, inbox.project.id, inbox.at, inbox.bodies, inbox.inline)
        purged = inbox.purged.get(entry.head.id)
        if purged is not None:
            item["purged_at"] = iso(purged.purged_ts)
            if purged.missing is not None:
                item.pop("body_omitted", None)
                item["body_missing"] = purged.missing.value
        shown.append(item)
    return shown


def show_held_lease(held: HeldLease) -> JsonObject:
    """A Lease with `live`, and `ended_by`: release, expiry, idle, force or retirement; null while nobody has ended it.
    Of one that was ended for idleness, or by force, what that rested on; of a live one what the store knows of its
    holder. Nothing is looked at in the workspace.
    """
    lease = held.lease
    recorded = lease.evidence or {}
    return {
        "id": lease.id,
        "agent": lease.agent,
        "path_pattern": lease.path_pattern,
        "exclusive": lease.exclusive,
        "reason": lease.reason,
        "created_ts": iso(lease.created_ts),
        "expires_ts": iso(lease.expires_ts),
        "released_ts": iso_or_none(lease.released_ts),
        "fencing": lease.fencing,
        "stale": bool(recorded.get("stale", False)),
        "stale_reasons": list(recorded.get("stale_reasons", ())),
        "last_agent_activity_ts": recorded.get("last_agent_activity_ts") or iso_or_none(held.agent_ts),
        "last_mail_activity_ts": recorded.get("last_mail_activity_ts") or iso_or_none(held.mail_ts),
        "last_filesystem_activity_ts": recorded.get("last_filesystem_activity_ts"),
        "last_git_activity_ts": recorded.get("last_git_activity_ts"),
        "live": held.is_live,
        "ended_by": None if lease.ended_by is None else lease.ended_by.value,
        "branch": lease.branch,
    }


def _short(hexsha: str | None) -> str | None:
    return None if hexsha is None else hexsha[:_COMMIT_DIGITS]
