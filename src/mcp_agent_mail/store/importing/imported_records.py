"""What was taken over: the key that its source gave a thing, and the number that the thing has here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.importing.records import SourceKind, SourceStore
from mcp_agent_mail.domain.importing.taken_records import ImportUnit, TakenRecord
from mcp_agent_mail.store.engine.port import Connection

_FIND = "SELECT number FROM imported WHERE system = ? AND store_id = ? AND kind = ? AND source_key = ?"
_FIND_MAIL = """
SELECT number FROM imported INDEXED BY imported_key WHERE system = ? AND source_key = ? AND kind = 'messages' LIMIT 1
"""
_FROM = "SELECT 1 FROM imported WHERE system = ? AND store_id = ? LIMIT 1"
_ADD_UNIT = "INSERT INTO import_units (system, store_id, imported_ts) VALUES (?, ?, ?) RETURNING id"
_ADD = """
INSERT INTO imported (system, store_id, kind, source_key, number, project_id, unit_id) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_UNIT = "SELECT system, store_id, imported_ts FROM import_units WHERE id = ?"
_TAKEN = """
SELECT kind, source_key, number FROM imported WHERE unit_id = ? AND project_id = ? ORDER BY kind, source_key
"""
_EACH = """
SELECT project_id, unit_id FROM imported WHERE (project_id, unit_id) > (?, ?)
GROUP BY project_id, unit_id ORDER BY project_id, unit_id LIMIT ?
"""
_EACH_OF = "SELECT DISTINCT unit_id FROM imported WHERE project_id = ? AND unit_id > ? ORDER BY unit_id LIMIT ?"
_IS_MAIL = "SELECT 1 FROM imported WHERE kind = 'messages' AND number = ?"
_AT_ONCE = 500


def not_imported(message: str) -> str:
    """A condition on the id of a message: it did not come as history."""
    return f"NOT EXISTS (SELECT 1 FROM imported i WHERE i.kind = 'messages' AND i.number = {message})"


class Imported:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, source: SourceStore, kind: SourceKind, key: str) -> int | None:
        """The number that the thing has here; None for what was never taken over from there. A message is the same in
        whichever store of the system: its key tells what it is, and stores lose the rows by which they are told apart.
        """
        if kind is SourceKind.MESSAGE:
            row = self._connection.execute(_FIND_MAIL, (source.system, key)).fetchone()
        else:
            row = self._connection.execute(_FIND, (source.system, source.store_id, kind.value, key)).fetchone()
        return None if row is None else int(row[0])

    def is_copy_of_another(self, source: SourceStore) -> bool:
        """Nothing came from this store, and its oldest mail is here from another one of its system."""
        row = self._connection.execute(_FROM, (source.system, source.store_id)).fetchone()
        return row is None and any(self.find(source, SourceKind.MESSAGE, key) for key in source.oldest_mail)

    def is_mail(self, message_id: int) -> bool:
        """Did the message come by an import?"""
        return self._connection.execute(_IS_MAIL, (message_id,)).fetchone() is not None

    def add(self, source: SourceStore, taken: Iterable[TakenRecord], now: Micros) -> int:
        """Note what the running unit of work has taken over; the unit's number. None of the keys is known yet."""
        (unit_id,) = self._connection.execute(_ADD_UNIT, (source.system, source.store_id, now)).fetchone()
        self._connection.executemany(
            _ADD,
            [
                (source.system, source.store_id, one.kind.value, one.key, one.number, one.project_id, unit_id)
                for one in taken
            ],
        )
        return int(unit_id)

    def unit(self, unit_id: int, project_id: ProjectId) -> ImportUnit:
        """What the unit has taken over, as far as the project's archive tells of it."""
        system, store_id, imported_ts = self._connection.execute(_UNIT, (unit_id,)).fetchone()
        return ImportUnit(
            id=unit_id,
            project_id=project_id,
            system=system,
            store_id=store_id,
            imported_ts=Micros(imported_ts),
            taken=tuple(
                TakenRecord(kind=SourceKind(kind), key=key, number=number, project_id=project_id)
                for kind, key, number in self._connection.execute(_TAKEN, (unit_id, project_id))
            ),
        )

    def each(self) -> Iterator[ImportUnit]:
        """Of every project every unit that its archive tells of."""
        after = (0, 0)
        while rows := self._connection.execute(_EACH, (*after, _AT_ONCE)).fetchall():
            for project_id, unit_id in rows:
                yield self.unit(unit_id, ProjectId(project_id))
            after = rows[-1]

    def each_of(self, project_id: ProjectId) -> Iterator[ImportUnit]:
        """Every unit that the project's archive tells of, by number."""
        after = 0
        while rows := self._connection.execute(_EACH_OF, (project_id, after, _AT_ONCE)).fetchall():
            for (unit_id,) in rows:
                yield self.unit(unit_id, project_id)
            after = rows[-1][0]
