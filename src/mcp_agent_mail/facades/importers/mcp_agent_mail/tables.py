"""The database: which of its tables and columns are there, and its rows as they stand. Columns may lack, or be more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.importing.refusals import some, unknown_layout
from mcp_agent_mail.facades.importers.values import text_of, time_of, whole_of
from mcp_agent_mail.store.foreign.database import ForeignDatabase, ForeignRow, ForeignValue

_NEEDED = {
    "projects": ("id",),
    "agents": ("id", "project_id", "name"),
    "messages": ("id", "project_id", "sender_id", "subject", "body_md"),
    "message_recipients": ("message_id", "agent_id"),
}
_KNOWN = frozenset(
    {
        *_NEEDED,
        "file_reservations",
        "agent_links",
        "products",
        "product_project_links",
        "window_identities",
        "message_summaries",
    }
)
_OF_TOOLS = ("sqlite_", "alembic_", "fts_")
_MESSAGE = (
    "id",
    "project_id",
    "sender_id",
    "thread_id",
    "topic",
    "subject",
    "body_md",
    "importance",
    "ack_required",
    "created_ts",
    "attachments",
)
_AGENT = (
    "id",
    "project_id",
    "name",
    "program",
    "model",
    "task_description",
    "inception_ts",
    "last_active_ts",
    "attachments_policy",
    "contact_policy",
    "registration_token",
)
_LEASE = (
    "id",
    "project_id",
    "agent_id",
    "path_pattern",
    "exclusive",
    "reason",
    "created_ts",
    "expires_ts",
    "released_ts",
)
_LINK = ("a_agent_id", "b_agent_id", "status", "reason", "created_ts", "updated_ts", "expires_ts", "b_project_id")
_UNSAID = ("read_ts", "ack_ts", "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignMessage:
    """A row of `messages` as it stands."""

    number: int
    project: int | None
    sender: int | None
    thread_id: str
    topic: str
    subject: str
    body_md: str
    importance: str
    ack_required: ForeignValue
    created_ts: Micros | None
    attachments: ForeignValue


class SourceTables:
    """Raises UnknownLayout where a table is missing without which there is no mail."""

    def __init__(self, database: ForeignDatabase, path: Path, system: str) -> None:
        self._database = database
        for table, columns in _NEEDED.items():
            known = database.tables.get(table)
            if known is None:
                raise unknown_layout(path, system, f"it has no table `{table}`; it has {some(database.tables)}")
            if missing := [column for column in columns if column not in known]:
                raise unknown_layout(path, system, f"its {table} lack {some(missing)}; they have {some(known)}")
        database.add_index("message_recipients", ("message_id",))
        database.add_index("messages", ("id",))
        database.add_index("messages", ("sender_id",))

    @property
    def mended(self) -> int:
        """Texts that were no UTF-8."""
        return self._database.mended

    def unknown_tables(self) -> list[str]:
        """With rows that nobody here reads: not the indexes and the like that tools keep for themselves."""
        names = (name for name in self._database.tables if name not in _KNOWN)
        return [
            name
            for name in names
            if not name.startswith(_OF_TOOLS) and "fts" not in name and self._database.count(name)
        ]

    def missing_columns(self) -> list[str]:
        """Of the recipients: what is not known of any of them."""
        return [name for name in _UNSAID if name not in self._database.tables["message_recipients"]]

    def count(self, table: str) -> int:
        return self._database.count(table)

    def oldest_project(self) -> ForeignRow:
        return next(self._database.rows("projects", ("id", "slug", "human_key", "created_at"), order=("id",)), ())

    def projects(self) -> Iterator[ForeignRow]:
        """id, slug, human_key, created_at."""
        return self._database.rows("projects", ("id", "slug", "human_key", "created_at"), order=("id",))

    def agents(self) -> Iterator[dict[str, ForeignValue]]:
        for row in self._database.rows("agents", _AGENT, order=("id",)):
            yield dict(zip(_AGENT, row, strict=True))

    def message_heads(self) -> Iterator[tuple[int | None, int | None, int | None, Micros | None]]:
        """id, project, sender and time of each."""
        for row in self._database.rows("messages", ("id", "project_id", "sender_id", "created_ts"), order=("id",)):
            yield whole_of(row[0]), whole_of(row[1]), whole_of(row[2]), time_of(row[3])

    def messages(self) -> Iterator[ForeignMessage]:
        """In the order of their numbers: in it they were added, whatever the clock said."""
        return self._messages(self._database.rows("messages", _MESSAGE, order=("id",)))

    def messages_of(self, sender: int) -> Iterator[ForeignMessage]:
        return self._messages(self._database.rows("messages", _MESSAGE, order=("id",), where={"sender_id": sender}))

    def head_of(self, number: int) -> tuple[int | None, int | None, Micros | None, str] | None:
        """Project, sender, time and subject of a message; None where there is none."""
        columns = ("project_id", "sender_id", "created_ts", "subject")
        row = self._database.first("messages", columns, {"id": number})
        return None if row is None else (whole_of(row[0]), whole_of(row[1]), time_of(row[2]), text_of(row[3]))

    def recipients_of(self, number: int) -> Iterator[ForeignRow]:
        """agent_id, kind, read_ts, ack_ts; in the order in which they were added."""
        columns = ("agent_id", "kind", "read_ts", "ack_ts")
        return self._database.rows("message_recipients", columns, where={"message_id": number})

    def recipient_rows(self) -> Iterator[ForeignRow]:
        """message_id and agent_id of all."""
        return self._database.rows("message_recipients", ("message_id", "agent_id"))

    def lost_recipients(self) -> int:
        """How many rows of recipients are of messages that are not there."""
        return self._database.count_lost("message_recipients", "message_id", "messages", "id")

    def leases(self) -> Iterator[dict[str, ForeignValue]]:
        for row in self._database.rows("file_reservations", _LEASE, order=("id",)):
            yield dict(zip(_LEASE, row, strict=True))

    def links(self) -> Iterator[dict[str, ForeignValue]]:
        for row in self._database.rows("agent_links", _LINK, order=("created_ts",)):
            yield dict(zip(_LINK, row, strict=True))

    def products(self) -> Iterator[dict[str, ForeignValue]]:
        """All columns of each, as they are called in small letters."""
        columns = tuple(self._database.tables.get("products", ()))
        for row in self._database.rows("products", columns, order=("id",)):
            yield dict(zip(columns, row, strict=True))

    def product_links(self, product: ForeignValue) -> list[int]:
        """The numbers of a product's projects."""
        known = self._database.tables.get("product_project_links", {})
        if "product_id" not in known:
            return []
        rows = self._database.rows("product_project_links", ("project_id",), where={"product_id": product})
        return [number for (value,) in rows if (number := whole_of(value)) is not None]

    def _messages(self, rows: Iterator[ForeignRow]) -> Iterator[ForeignMessage]:
        for row in rows:
            number = whole_of(row[0])
            if number is not None:
                yield ForeignMessage(
                    number=number,
                    project=whole_of(row[1]),
                    sender=whole_of(row[2]),
                    thread_id=text_of(row[3]).strip(),
                    topic=text_of(row[4]),
                    subject=text_of(row[5]),
                    body_md=text_of(row[6]),
                    importance=text_of(row[7]),
                    ack_required=row[8],
                    created_ts=time_of(row[9]),
                    attachments=row[10],
                )
