"""A source beside the store that it was brought into: what is missing, what is there twice, who has read what."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent_mail.facades.importers.sources import open_source
from tests.facades.importers.mcp_store import MadeStore


@dataclass(frozen=True, slots=True, kw_only=True)
class MailCount:
    """Messages by time and body; copies by time, body, and whether they were read."""

    messages: Counter[tuple[int, str]]
    copies: Counter[tuple[int, str, bool]]

    def faults_of(self, store: MailCount) -> list[str]:
        """In words; this is what should be there."""
        differences: tuple[tuple[str, Counter[Any]], ...] = (
            ("messages missing", self.messages - store.messages),
            ("messages doubled or made up", store.messages - self.messages),
            ("copies missing", self.copies - store.copies),
            ("copies doubled or made up", store.copies - self.copies),
        )
        return [f"{ones.total()} {what}, the first: {next(iter(ones))!r:.120}" for what, ones in differences if ones]


def mail_of_source(made: MadeStore) -> MailCount:
    """As its reader gives it."""
    messages: Counter[tuple[int, str]] = Counter()
    copies: Counter[tuple[int, str, bool]] = Counter()
    with open_source("mcp-agent-mail", made.database, archive=made.archive) as reader:
        list(reader.projects())
        list(reader.agents())
        for one in reader.messages():
            messages[one.created_ts, one.body_md] += 1
            copies.update((one.created_ts, one.body_md, copy.read_ts is not None) for copy in one.recipients)
    return MailCount(messages=messages, copies=copies)


def mail_of_store(database: Path) -> MailCount:
    """As it stands, read straight from the file: nobody may be writing."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT created_ts, body_md FROM messages WHERE is_system = 0")
        messages = Counter((created, body) for created, body in rows)
        rows = connection.execute(
            "SELECT created_ts, body_md, read_ts IS NOT NULL FROM recipients JOIN messages ON messages.id = message_id "
            "WHERE is_system = 0"
        )
        copies = Counter((created, body, bool(was_read)) for created, body, was_read in rows)
    return MailCount(messages=messages, copies=copies)
