"""How each table comes back when a database is made of archives alone, and what of it does not.

A test holds this against `store/tables`: whoever adds a table or a column says here where it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from types import MappingProxyType

from mcp_agent_mail.core.lazy.dataclass import dataclass


class Origin(StrEnum):
    ARCHIVES = "archives"
    """Its rows stand in files of archives."""

    DERIVED = "derived"
    """Its rows follow from others, or from the history of archives."""

    LOST = "lost"
    """No archive tells of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRule:
    """`of`: the file, or what it is derived of, or why it is lost. `columns` are compared between a store and the one
    that is made of its archives; of each other column `left_out` says why it is not.
    """

    origin: Origin
    of: str
    columns: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


_PRESENCE = "presence"
_SIDE_FACT = "a side fact of a running server, never archived"
_NUMBER_OF_ROW = "numbers rows, and nobody is shown it"

RULES: Mapping[str, TableRule] = MappingProxyType(
    {
        "meta": TableRule(
            origin=Origin.ARCHIVES, of="archive.json: store_id; else notes of a running server, and of a rebuild",
            columns=("key", "value"),
        ),
        "counters": TableRule(
            origin=Origin.DERIVED, of="the highest numbers that archives show, and far above them",
            left_out={"name": "every store has the same", "value": "goes on above what archives show"},
        ),
        "projects": TableRule(
            origin=Origin.ARCHIVES, of="archive.json",
            columns=("id", "slug", "human_key", "plain_slug", "created_ts", "archived_ts"),
        ),
        "project_aliases": TableRule(
            origin=Origin.ARCHIVES, of="archive.json", columns=("alias", "project_id", "kind", "created_ts"),
        ),
        "products": TableRule(
            origin=Origin.ARCHIVES, of="products/<uid>.json; of a product without a project no archive tells",
            columns=("id", "product_uid", "name", "name_key", "created_ts"),
        ),
        "product_projects": TableRule(
            origin=Origin.ARCHIVES, of="products/<uid>.json", columns=("product_id", "project_id", "linked_ts"),
        ),
        "agents": TableRule(
            origin=Origin.ARCHIVES, of="agents/<Name>/profile.json; the counts of its inbox are derived",
            columns=(
                "id", "project_id", "kind", "name", "name_key", "program", "model", "task_description",
                "inception_ts", "profiled_ts", "contact_policy", "attachments_policy", "retired_ts",
                "retired_by_operator", "unread_count", "open_unread_count", "inbox_count", "urgent_unread_count",
                "ack_pending_count",
            ),
            left_out={
                "last_active_ts": f"{_PRESENCE}: beyond what mail, receipts and leases tell",
                "status": _PRESENCE, "status_note": _PRESENCE, "status_ts": _PRESENCE,
                "token_hash": "tokens are never archived",
            },
        ),
        "messages": TableRule(
            origin=Origin.ARCHIVES, of="agents/<Name>/outbox/… and messages/…; the scope is derived",
            columns=(
                "id", "project_id", "sender_id", "thread_id", "topic", "subject", "importance", "ack_required",
                "created_ts", "reply_to", "is_system", "scope", "body_bytes", "body_md", "purged_ts",
            ),
            left_out={"is_verified": "no archive tells how a sender was known: it counts as not proven"},
        ),
        "message_projects": TableRule(
            origin=Origin.DERIVED, of="recipients: whose mail a message became with which delivery",
            columns=(
                "project_id", "message_id", "delivered_ts", "thread_id", "is_late", "delivery_seq", "topic_key",
            ),
        ),
        "recipients": TableRule(
            origin=Origin.ARCHIVES, of="agents/<Name>/outbox/…, receipts/… and agents/<Name>/receipts/…",
            columns=(
                "message_id", "agent_id", "kind", "position", "delivery_seq", "delivered_ts", "read_ts", "ack_ts",
                "urgent", "ack_required", "thread_id", "held_code", "refused_ts", "topic_key", "sender_id",
                "answered_ts", "valid_until_ts", "expired_ts", "withdrawn_ts", "withdrawn_seq", "superseded_by",
            ),
            left_out={
                "handed_ts": _SIDE_FACT, "shown_ts": _SIDE_FACT, "gone_ts": "is told once, in a feed",
            },
        ),
        "message_terms": TableRule(
            origin=Origin.ARCHIVES, of="agents/<Name>/outbox/… and messages/…",
            columns=("message_id", "valid_until_ts", "supersedes", "withdrawn_ts", "withdrawn_reason"),
        ),
        "message_attachments": TableRule(
            origin=Origin.ARCHIVES, of="agents/<Name>/outbox/…", columns=("message_id", "attachments"),
        ),
        "content_messages": TableRule(
            origin=Origin.DERIVED, of="message_attachments", columns=("sha256", "message_id"),
        ),
        "content_projects": TableRule(
            origin=Origin.DERIVED, of="content_messages and message_projects",
            columns=("sha256", "project_id", "message_id"),
        ),
        "content_parties": TableRule(
            origin=Origin.DERIVED, of="content_messages and recipients", columns=("sha256", "agent_id", "message_id"),
        ),
        "project_contents": TableRule(
            origin=Origin.DERIVED, of="message_attachments and recipients", columns=("project_id", "sha256", "bytes"),
        ),
        "overdue_notices": TableRule(
            origin=Origin.ARCHIVES, of="agents/<Name>/overdue/…", columns=("message_id", "noted_ts", "escalation"),
        ),
        "identifiers": TableRule(
            origin=Origin.DERIVED, of="messages and message_projects, by a trigger",
            left_out=dict.fromkeys(("id", "scope", "name"), "names that only purged mail had are gone with it"),
        ),
        "contacts": TableRule(
            origin=Origin.ARCHIVES, of="contacts/<from>/<to>.json",
            columns=("id", "source_id", "target_id", "status", "reason", "created_ts", "updated_ts", "expires_ts"),
        ),
        "leases": TableRule(
            origin=Origin.ARCHIVES, of="file_reservations/… and build_slots/…; anchor and tail are derived",
            columns=(
                "id", "project_id", "agent_id", "kind", "path_pattern", "is_folder", "ignore_case", "anchor", "tail",
                "exclusive", "reason", "branch", "created_ts", "expires_ts", "released_ts", "ended_by", "evidence",
                "fencing",
            ),
            left_out={"promises": "counts answers whose callers are gone"},
        ),
        "import_units": TableRule(
            origin=Origin.ARCHIVES, of="imports/…", columns=("id", "system", "store_id", "imported_ts"),
        ),
        "imported": TableRule(
            origin=Origin.ARCHIVES, of="imports/…",
            columns=("system", "store_id", "kind", "source_key", "number", "project_id", "unit_id"),
        ),
        "outbox": TableRule(
            origin=Origin.DERIVED, of="the commits of archives: which files each has changed, and who acted",
            columns=("project_id", "agent_id", "message_id", "step", "is_blind", "commit_id"),
            left_out={
                "seq": "fits the commit, and is the event's own for the first receipt of a file only",
                "kind": "of each is compared what is shown of it",
                "created_ts": "is asked of pending events alone",
                "snapshot": "what is in Git has none",
            },
        ),
        "commits": TableRule(
            origin=Origin.DERIVED, of="the history of archives",
            columns=("project_id", "hexsha", "summary", "authored_ts", "last_seq"),
            left_out={"id": _NUMBER_OF_ROW},
        ),
        "stale_aliases": TableRule(
            origin=Origin.DERIVED, of="an archive.json from before it said since when aliases are",
            left_out={"project_id": "waits to be told, as an event does"},
        ),
        "unqueued_notices": TableRule(
            origin=Origin.DERIVED, of="nothing: a notice that an archive tells of was queued",
            left_out={"message_id": "waits to be told, as an event does"},
        ),
        "join_codes": TableRule(origin=Origin.LOST, of="they let somebody in, and are never archived"),
        "issued_tokens": TableRule(origin=Origin.LOST, of="they open the server, and are never archived"),
        "web_sessions": TableRule(origin=Origin.LOST, of="browsers sign in again, and no archive knows of them"),
        "dismissed_siblings": TableRule(origin=Origin.LOST, of="a person is asked again, and no archive knows of it"),
        "windows": TableRule(origin=Origin.LOST, of="terminals come and go"),
        "idempotency_keys": TableRule(origin=Origin.LOST, of="kept for a day, to repeat an answer"),
        "guard_events": TableRule(origin=Origin.LOST, of="a log of code repositories, not of mail"),
        "digests": TableRule(origin=Origin.LOST, of="can be made again out of the mail"),
        "feed": TableRule(origin=Origin.LOST, of="events of delivery: a cursor from before has expired"),
        "feed_marks": TableRule(origin=Origin.LOST, of="times of cursors, which begin anew with the feed"),
        "hook_sessions": TableRule(origin=Origin.LOST, of="sessions of clients, whose hooks may tell of mail anew"),
        "announcements": TableRule(origin=Origin.LOST, of="what those sessions were told, which they may be again"),
        "wire_names": TableRule(
            origin=Origin.ARCHIVES, of="agents/<Name>/profile.json: aliases; the key is derived",
            columns=("id", "project_id", "agent_id", "name", "name_key", "owner", "created_ts"),
        ),
        "wire_name_doors": TableRule(
            origin=Origin.ARCHIVES, of="agents/<Name>/profile.json: doors of aliases", columns=("wire_name_id", "door"),
        ),
        "wire_ids": TableRule(
            origin=Origin.ARCHIVES, of="agents/<Name>/outbox/… and messages/…; the digest is derived",
            columns=("message_id", "door", "external_id", "sender_id", "recipient_id", "answers", "body_hash"),
        ),
        "pops": TableRule(origin=Origin.LOST, of="answers that are under way, of which none outlives its process"),
        "llm_spending": TableRule(origin=Origin.LOST, of="of the days that have passed"),
    }
)  # fmt: skip
"""By table."""
