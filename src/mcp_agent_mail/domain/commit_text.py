"""What a commit of an archive says: one quiet line, who acted, and how far the outbox has been written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_layout import Snapshot, is_blind_receipt, is_tombstone, name_in
from mcp_agent_mail.domain.events import EventKind, OutboxEvent

SEQ_TRAILER = "Outbox-Seq"
_SUBJECT_LENGTH = 100
_NAMES_SHOWN = 3
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitText:
    """`author` is the one agent that acted, None when several did or none."""

    subject: str
    agents: tuple[str, ...]
    last_seq: OutboxSeq

    @property
    def author(self) -> str | None:
        return self.agents[0] if len(self.agents) == 1 else None

    @property
    def message(self) -> str:
        trailers = [f"Agent: {name}" for name in self.agents]
        return "\n".join([self.subject, "", *trailers, f"{SEQ_TRAILER}: {self.last_seq}", ""])


def commit_text(events: Sequence[OutboxEvent]) -> CommitText:
    """For a batch, which is never empty. Blind recipients are never named."""
    agents = sorted({name for event in events if (name := _acting(event)) is not None})
    return CommitText(subject=_subject(events), agents=tuple(agents), last_seq=events[-1].seq)


def _subject(events: Sequence[OutboxEvent]) -> str:
    if len(events) > 1:
        return f"archive: {len(events)} events"
    (event,) = events
    if event.kind is EventKind.ADOPTION:
        source = event.snapshot["source"]
        return "archive: names after an adoption" if source is None else f"adopt: {source} into {event.project_slug}"
    if event.kind is not EventKind.MAIL or not _is_shown(event.snapshot):
        return "archive: 1 event"
    subject = _UNPRINTABLE.sub(" ", f"mail: {_route(event.snapshot)} | {event.snapshot['subject']}").strip()
    return subject if len(subject) <= _SUBJECT_LENGTH else subject[: _SUBJECT_LENGTH - 1].rstrip() + "…"


def _is_shown(snapshot: Snapshot) -> bool:
    """Commits are shown to everybody: what nobody has got yet, is for few eyes or is gone is not spoken of there."""
    recipients = snapshot["recipients"]
    is_held = bool(recipients) and all(entry.get("status") in ("held", "refused") for entry in recipients)
    return not is_held and not snapshot.get("is_private", False) and not is_tombstone(snapshot)


def _route(snapshot: Snapshot) -> str:
    home = snapshot["archive_project_id"]
    names = [
        name_in(home, entry["name"], entry["project_id"], entry["project_slug"])
        for entry in snapshot["recipients"]
        if entry["kind"] != "bcc"
    ]
    shown = ", ".join(names[:_NAMES_SHOWN])
    more = f" +{len(names) - _NAMES_SHOWN}" if len(names) > _NAMES_SHOWN else ""
    sender = _sender(snapshot)
    return f"{sender} -> {shown}{more}" if shown else sender


def _sender(snapshot: Snapshot) -> str:
    return name_in(snapshot["archive_project_id"], snapshot["sender"], snapshot["project_id"], snapshot["project_slug"])


def _acting(event: OutboxEvent) -> str | None:
    """The name of the agent whose act the event tells of; None for the server's own and for a blind recipient's."""
    if event.kind is EventKind.MAIL:
        return None if is_tombstone(event.snapshot) else _sender(event.snapshot)
    if event.kind is EventKind.PROFILE:
        return str(event.snapshot["name"])
    if event.kind is EventKind.RECEIPT:
        return None if is_blind_receipt(event.snapshot) else str(event.snapshot["agent"])
    acting = event.snapshot.get("acting")
    return None if acting is None else str(acting)
