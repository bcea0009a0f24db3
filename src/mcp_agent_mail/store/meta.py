"""What the store knows of itself: its id, its schema, and proof that it can be written."""

from __future__ import annotations

import secrets

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.engine.sqlite.numbers import GivenNumbers, numbers_in, raise_in

_GET = "SELECT value FROM meta WHERE key = ?"
_PUT = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_STORE_ID = "store_id"
_CHECKED_AT = "health_checked_at"
_REBUILT = "rebuilt"
_MARK_BYTES = 16
# Nobody finds a token whose hash begins as the mark does.
_LOST_TOKENS = f"""
SELECT EXISTS (
    SELECT 1 FROM meta m JOIN agents a ON hex(substr(a.token_hash, 1, {_MARK_BYTES})) = m.value
    WHERE m.key = '{_REBUILT}')
"""


class Meta:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _find(self, key: str) -> str | None:
        row = self._connection.execute(_GET, (key,)).fetchone()
        return None if row is None else row[0]

    def store_id(self) -> str:
        """The name of this store for good; its archives carry it too."""
        found = self._find(_STORE_ID)
        assert found is not None, "a migrated store has an id"
        return found

    def note_rebuilt(self) -> bytes:
        """Say that this store is made of archives alone. So begins what stands in the place of the hash of an agent's
        token, which is lost, until it gets another one.
        """
        mark = secrets.token_bytes(_MARK_BYTES)
        self._connection.execute(_PUT, (_REBUILT, mark.hex().upper()))
        return mark

    def has_lost_tokens(self) -> bool:
        """Was it made of archives alone, and has an agent of that time got no token since?"""
        return bool(self._connection.execute(_LOST_TOKENS).fetchone()[0])

    def let_go_of_pages(self) -> None:
        """Free what this connection keeps of pages that it does not need just now; nothing is written."""
        self._connection.execute("PRAGMA shrink_memory")

    def schema_version(self) -> int:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(version)

    def given_numbers(self) -> GivenNumbers:
        """The highest of each kind that this store has given out."""
        return numbers_in(self._connection)

    def go_on_above(self, given: GivenNumbers) -> None:
        """None of these is given out from now on, nor any below; far above them the next ones go on."""
        raise_in(self._connection, given)

    def unused_bytes(self) -> int:
        """Of pages in the database's file that hold nothing: what comes next takes them before the file grows."""
        (pages,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        (size,) = self._connection.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(size)

    def checked_at(self) -> Micros | None:
        """When `note_check` last ran."""
        found = self._find(_CHECKED_AT)
        return None if found is None else Micros(int(found))

    def note_check(self, now: Micros) -> None:
        """Write the time of a check: the smallest real write, which proves that the writer commits."""
        self._connection.execute(_PUT, (_CHECKED_AT, str(now)))
