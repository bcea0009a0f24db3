"""The archive's file format: snapshots of domain values, and from an event its files, path and bytes.

Pure. Whoever renders the same values again gets the same bytes, which is how `am doctor verify`
checks an archive. docs/reference/archive-format.md describes the result for readers.

Snapshots are made inside the unit of work that changes the state; they hold times as integers
and names as they were, so that rendering needs nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mcp_agent_mail.core.clock import Micros, iso, iso_or_none, to_datetime
from mcp_agent_mail.core.ids import OutboxSeq, ProjectId
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.attachments import Content, attachment_entry, carried_files, freed_paths
from mcp_agent_mail.domain.archive_format.contacts import CONTACTS_FOLDER, contact_document, contact_path
from mcp_agent_mail.domain.archive_format.doors import (
    ALIASES,
    EXTERNAL_ID,
    RETIRED_BY,
    UNCLAIMED,
    aliases_record,
    external_id_record,
    retirement_record,
)
from mcp_agent_mail.domain.archive_format.imports import IMPORTS_FOLDER, import_file
from mcp_agent_mail.domain.archive_format.json_text import compact, document
from mcp_agent_mail.domain.archive_format.leases import FOLDERS, lease_changes
from mcp_agent_mail.domain.archive_format.names import name_in, safe_name
from mcp_agent_mail.domain.archive_format.overdue_notices import overdue_notice_file
from mcp_agent_mail.domain.archive_format.products import PRODUCTS_FOLDER, product_file
from mcp_agent_mail.domain.archive_format.terms import terms_front, terms_record
from mcp_agent_mail.domain.archive_format.versions import block_folder, mail_end
from mcp_agent_mail.domain.attachments import ATTACHMENTS_FOLDER, to_record
from mcp_agent_mail.domain.doors.names import WireName
from mcp_agent_mail.domain.events import EventKind, OutboxEvent
from mcp_agent_mail.domain.messages import Message, Receipt, Recipient
from mcp_agent_mail.domain.projects import Project, StoredAlias

ARCHIVE_FILE = "archive.json"
FOLDERS_BY_MONTH = ("agents", "messages", "receipts", *FOLDERS.values())
"""What lies in them beside their months (profiles, live leases) lies right above a month's folder."""

OWN_FOLDERS = (*FOLDERS_BY_MONTH, ATTACHMENTS_FOLDER, CONTACTS_FOLDER, IMPORTS_FOLDER, PRODUCTS_FOLDER)
"""With `archive.json`, all that the archiver writes; the rest of a repository is its owner's."""

_GIT = ".git"


def is_own(path: str) -> bool:
    """Is a path in a repository one that the archiver writes? No part of it is a Git directory's name."""
    first, *rest = path.split("/")
    return path == ARCHIVE_FILE or (first in OWN_FOLDERS and bool(rest) and _GIT not in map(str.lower, rest))


Snapshot = dict[str, Any]  # JSON: the keys stand in the functions below
File = tuple[str, bytes]
"""Path inside the repository, and content."""

Changes = dict[str, Content | None]
"""What to write by path; None removes what lies there."""

_SLUG_LENGTH = 80
_NOT_IN_SLUG = lazy_pattern(r"[^a-z0-9._-]+")


def project_snapshot(project: Project, aliases: Sequence[StoredAlias] = ()) -> Snapshot:
    """No key for `aliases` where there are none: most archives are older than aliases."""
    snapshot: Snapshot = {
        "id": project.id,
        "slug": project.slug,
        "human_key": project.human_key,
        "created_ts": project.created_ts,
        "archived_ts": project.archived_ts,
    }
    if aliases:
        snapshot["aliases"] = [
            {"alias": one.name, "kind": one.kind.value, "created_ts": iso(one.created_ts)} for one in aliases
        ]
    return snapshot


def profile_snapshot(agent: Agent, aliases: Sequence[WireName] = (), *, is_claimed: bool = True) -> Snapshot:
    """What the profile's file shows: neither token nor presence. Activity is the time of the last change of the
    profile, so that the same profile always gives the same file. `aliases` are all names that doors know the agent by;
    `store.doors.profiles` looks for them.
    """
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
        **retirement_record(by_operator=agent.retired_by_operator),
        **aliases_record(aliases, is_claimed=is_claimed),
    }


def involved_projects(message: Message, recipients: Iterable[Recipient]) -> list[ProjectId]:
    """Whose archives hold the message: the sender's project, and those that somebody got it in."""
    reached = (one.project_id for one in recipients if one.number is not None)
    return list(dict.fromkeys((message.project_id, *reached)))


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
        **({"is_private": True} if message.is_private else {}),
        **({"attachments": [to_record(one) for one in message.attachments]} if message.attachments else {}),
        **({} if message.purged_ts is None else {"purged_ts": message.purged_ts}),
        **terms_record(message.terms),
        **external_id_record(message.wire_place),
        "recipients": [
            {
                "agent_id": recipient.agent_id,
                "project_id": recipient.project_id,
                "project_slug": recipient.project_slug,
                "name": recipient.name,
                "kind": recipient.kind.value,
                "delivery_seq": recipient.number,
                "delivered_ts": recipient.delivered_ts,
                **_fate_of(recipient),
            }
            for recipient in sorted(recipients, key=lambda recipient: recipient.position)
        ],
    }


def _fate_of(recipient: Recipient) -> Snapshot:
    """What became of a copy that was held at first, or has expired unread."""
    expired: Snapshot = {} if recipient.expired_ts is None else {"expired_ts": recipient.expired_ts}
    if recipient.held_code is None:
        return expired
    held = {"held_code": recipient.held_code, "status": recipient.status, "refused_ts": recipient.refused_ts}
    return held | expired


def receipt_snapshot(receipt: Receipt) -> Snapshot:
    """What one line of receipts says, in the archive of the recipient's project."""
    return {
        "message_id": receipt.message_id,
        "agent_id": receipt.agent_id,
        "agent": receipt.agent,
        "step": receipt.step.value,
        "ts": receipt.at,
        **({"is_blind": True} if receipt.is_blind else {}),
        **({"is_private": True} if receipt.is_private else {}),
    }


def batch_files(events: Iterable[OutboxEvent], store_id: str, version: int) -> Changes:
    """Every file of a batch, by path. For a path written twice the later event counts."""
    files: Changes = {}
    receipts: dict[str | None, list[OutboxEvent]] = {}
    for event in events:
        if event.kind is EventKind.RECEIPT:
            receipts.setdefault(receipts_of(event.snapshot), []).append(event)
        elif event.kind in FOLDERS:
            files.update(lease_changes(event.kind, event.snapshot, version))
        else:
            files.update(event_files(event.kind, event.snapshot, store_id, version))
            files.update(dict.fromkeys(freed_paths(event.snapshot)))
            files.update(carried_files(event.snapshot))
    for agent, those in receipts.items():
        lines = b"".join(receipt_line(event.snapshot) for event in those)
        files[receipts_path(those[0].seq, those[0].created_ts, agent)] = lines
    return files


def event_files(kind: EventKind, snapshot: Snapshot, store_id: str, version: int) -> list[File]:
    """The files of one event that neither is a receipt (they share one file per batch) nor tells of a lease."""
    match kind:
        case EventKind.PROJECT:
            files = [(ARCHIVE_FILE, archive_file(snapshot, store_id, version))]
        case EventKind.PROFILE:
            files = [(profile_path(snapshot["name"]), profile_file(snapshot))]
        case EventKind.CONTACT:
            files = [contact_file(snapshot)]
        case EventKind.PRODUCT:
            files = [product_file(snapshot)]
        case EventKind.IMPORT:
            files = [import_file(snapshot)]
        case EventKind.OVERDUE:
            files = [overdue_notice_file(snapshot, version)]
        case _:
            assert kind is EventKind.MAIL, kind
            files = list(mail_files(snapshot, version))
    return files


def archive_file(snapshot: Snapshot, store_id: str, version: int) -> bytes:
    """What the repository is: the first thing a reader, or another store, must look at."""
    project = {
        "id": snapshot["id"],
        "slug": snapshot["slug"],
        "human_key": snapshot["human_key"],
        "created_at": iso(snapshot["created_ts"]),
        "archived_at": iso_or_none(snapshot["archived_ts"]),
        **({"aliases": snapshot["aliases"]} if "aliases" in snapshot else {}),
    }
    return document({"format": version, "store_id": store_id, "project": project})


def profile_path(name: str) -> str:
    return f"agents/{safe_name(name)}/profile.json"


def profile_file(snapshot: Snapshot) -> bytes:
    """An agent's profile as the archive keeps it: times in UTC as ISO 8601, no token, no presence. The keys are the
    archive's format.
    """
    kept = ("id", "kind", "name", "program", "model", "task_description", "project_id")
    policies = ("contact_policy", "attachments_policy")
    return document(
        {key: snapshot[key] for key in (*kept, *policies)}
        | {
            "inception_ts": iso(snapshot["inception_ts"]),
            "last_active_ts": iso(snapshot["profiled_ts"]),
            "retired_ts": iso_or_none(snapshot["retired_ts"]),
        }
        | {key: snapshot[key] for key in (ALIASES, UNCLAIMED, RETIRED_BY) if key in snapshot}
    )


def contact_file(snapshot: Snapshot) -> File:
    """Path and content of one link's file, which lies in the archives of both agents' projects."""
    home = snapshot["archive_project_id"]

    def called(party: Mapping[str, Any]) -> str:
        return name_in(home, safe_name(party["name"]), party["project_id"], party["project_slug"])

    return contact_path(snapshot, called), document(contact_document(snapshot))


def receipts_of(snapshot: Snapshot) -> str | None:
    """The agent in whose folder the receipt's line lies; None for the project's."""
    return str(snapshot["agent"]) if is_blind_receipt(snapshot) else None


def is_blind_receipt(snapshot: Snapshot) -> bool:
    return bool(snapshot.get("is_blind", False))


def receipts_path(first_seq: OutboxSeq, created_ts: Micros, agent: str | None = None) -> str:
    """The file of one batch's receipts, named by the first of them. One file for a whole day would be written anew with
    each batch, which costs the square of its size.

    `agent`: for the receipts of its blind copies, which lie beside its inbox.
    """
    folder = "" if agent is None else f"agents/{safe_name(agent)}/"
    return f"{folder}receipts/{to_datetime(created_ts):%Y/%m/%d}/{first_seq}.jsonl"


def receipt_line(snapshot: Snapshot) -> bytes:
    shown = {key: value for key, value in snapshot.items() if key not in ("is_blind", "is_private")}
    return compact(shown | {"ts": iso(snapshot["ts"])}).encode() + b"\n"


def mail_files(snapshot: Snapshot, version: int) -> Iterator[File]:
    """The copies of one message in one archive: canonical, the sender's, each recipient's.

    They are the same bytes object, so that they can share one file on disk; only with blind
    recipients the sender's copy is a file of its own, the one that names them.
    """
    home = snapshot["archive_project_id"]
    tail = mail_tail(snapshot, version)
    shown = mail_file(snapshot, version, with_blind=False)
    if home == snapshot["project_id"]:
        is_blind = any(recipient["kind"] == "bcc" for recipient in snapshot["recipients"])
        yield f"messages/{tail}", shown
        sent = mail_file(snapshot, version, with_blind=True) if is_blind else shown
        yield f"agents/{safe_name(snapshot['sender'])}/outbox/{tail}", sent
    for recipient in snapshot["recipients"]:
        if recipient["project_id"] == home and recipient["delivery_seq"] is not None:
            yield f"agents/{safe_name(recipient['name'])}/inbox/{tail}", shown


def is_tombstone(snapshot: Snapshot) -> bool:
    """Of a message whose text is gone from the live store: only the history has it."""
    return "purged_ts" in snapshot


def held_copies(snapshot: Snapshot, version: int) -> list[str]:
    """Paths, in this archive, of the copies that were held at first, delivered by now or not."""
    home, tail = snapshot["archive_project_id"], mail_tail(snapshot, version)
    return [
        f"agents/{safe_name(entry['name'])}/inbox/{tail}"
        for entry in snapshot["recipients"]
        if "held_code" in entry and entry["project_id"] == home
    ]


def subject_slug(subject: str) -> str:
    slug = _NOT_IN_SLUG.sub("-", subject.lower()).strip("-_")
    return slug[:_SLUG_LENGTH].strip("-_") or "message"


def mail_tail(snapshot: Snapshot, version: int) -> str:
    """Where each copy of a mail lies within its folder: by month, block and name."""
    created = to_datetime(snapshot["created_ts"])
    block = block_folder(snapshot["id"], version)
    file_name = f"{created:%Y-%m-%dT%H-%M-%SZ}__{subject_slug(snapshot['subject'])}__{snapshot['id']}.md"
    return f"{created:%Y/%m}/{block}/{file_name}"


def mail_file(snapshot: Snapshot, version: int, *, with_blind: bool) -> bytes:
    """The content of one copy; `with_blind` of the one that names blind recipients."""
    home = snapshot["archive_project_id"]
    recipients = [entry for entry in snapshot["recipients"] if with_blind or entry["kind"] != "bcc"]
    named = [
        entry | {"name": name_in(home, entry["name"], entry["project_id"], entry["project_slug"])}
        for entry in recipients
    ]
    front = {
        "ack_required": snapshot["ack_required"],
        "attachments": [attachment_entry(record) for record in snapshot.get("attachments", ())],
        "bcc": _names(named, "bcc"),
        "cc": _names(named, "cc"),
        "created": iso(snapshot["created_ts"]),
        "from": name_in(home, snapshot["sender"], snapshot["project_id"], snapshot["project_slug"]),
        "id": snapshot["id"],
        "importance": snapshot["importance"],
        "project": snapshot["project"],
        "project_id": snapshot["project_id"],
        "project_slug": snapshot["project_slug"],
        "recipients": [_recipient(entry) for entry in named],
        "reply_to": snapshot["reply_to"],
        "sender_id": snapshot["sender_id"],
        "subject": snapshot["subject"],
        "system": snapshot["is_system"],
        "thread_id": snapshot["thread_id"],
        "to": _names(named, "to"),
        "topic": snapshot["topic"],
    }
    if snapshot.get("is_private"):
        front["private"] = True
    if is_tombstone(snapshot):
        front["purged"] = iso(snapshot["purged_ts"])
    front |= terms_front(snapshot) | {key: snapshot[key] for key in (EXTERNAL_ID,) if key in snapshot}
    body: str = snapshot["body_md"]
    return b"---json\n" + document(front) + b"---\n" + body.encode() + mail_end(version)


def _names(recipients: Sequence[Mapping[str, Any]], kind: str) -> list[str]:
    return [entry["name"] for entry in recipients if entry["kind"] == kind]


def _recipient(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What rebuilding needs and the name lists do not say."""
    shown = {
        "agent_id": entry["agent_id"],
        "delivered_ts": iso_or_none(entry["delivered_ts"]),
        "delivery_seq": entry["delivery_seq"],
        "kind": entry["kind"],
        "name": entry["name"],
    }
    if "held_code" in entry:
        held = {"held_code": entry["held_code"], "status": entry["status"]}
        shown |= held | {"refused_ts": iso_or_none(entry["refused_ts"])}
    if "expired_ts" in entry:
        shown["expired_ts"] = iso(entry["expired_ts"])
    return shown
