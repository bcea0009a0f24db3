"""What a commit of an archive says: one quiet line, who acted, and how far the outbox has been written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.layout import Snapshot, is_blind_receipt, is_tombstone, name_in
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
    """For a batch, which is never empty. It says the same whether or not something is in it that few may know of: a
    blind or held copy, what asks for and gives consent, a receipt that may be for such a copy.
    """
    agents = sorted({name for event in events if (name := _acting(event)) is not None})
    return CommitText(subject=_subject(events), agents=tuple(agents), last_seq=events[-1].seq)


def _subject(events: Sequence[OutboxEvent]) -> str:
    told = [event for event in events if event.kind is not EventKind.RECEIPT and _is_open(event)]
    if len(told) != 1:
        return f"archive: {len(told)} events" if told else "archive: records"
    (event,) = told
    if event.kind is EventKind.ADOPTION:
        source = event.snapshot["source"]
        return "archive: names after an adoption" if source is None else f"adopt: {source} into {event.project_slug}"
    if event.kind is not EventKind.MAIL:
        return "archive: 1 event"
    subject = _UNPRINTABLE.sub(" ", f"mail: {_route(event.snapshot)} | {event.snapshot['subject']}").strip()
    return subject if len(subject) <= _SUBJECT_LENGTH else subject[: _SUBJECT_LENGTH - 1].rstrip() + "…"


def _is_open(event: OutboxEvent) -> bool:
    """Commits are shown to everybody: what nobody has got yet, is for few eyes or is gone is not spoken of there."""
    if event.kind is EventKind.MAIL:
        return _is_told_by_its_sender(event) and _is_shown(event.snapshot)
    if event.kind is EventKind.RECEIPT:
        return not is_blind_receipt(event.snapshot)
    return event.kind is not EventKind.CONTACT


def _is_told_by_its_sender(event: OutboxEvent) -> bool:
    """Else somebody else has changed what became of a copy, which may be a blind one."""
    return event.agent_id is not None and event.agent_id == event.snapshot["sender_id"]


def _is_shown(snapshot: Snapshot) -> bool:
    """Has it come to somebody, openly as far as the archive's project is not its sender's?"""
    home, recipients = snapshot["archive_project_id"], snapshot["recipients"]
    if home != snapshot["project_id"]:
        recipients = [entry for entry in recipients if entry["project_id"] == home and entry["kind"] != "bcc"]
        if not recipients:
            return False
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
    """The name of the agent whose act the event tells of; None for the server's own and for what few may know of."""
    if not _is_open(event):
        return None
    if event.kind is EventKind.MAIL:
        return _sender(event.snapshot)
    if event.kind is EventKind.PROFILE:
        return str(event.snapshot["name"])
    if event.kind is EventKind.RECEIPT:
        return str(event.snapshot["agent"])
    acting = event.snapshot.get("acting")
    return None if acting is None else str(acting)
