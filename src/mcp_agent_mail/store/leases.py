"""Leases at rest: of files and of build slots, live and ended."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, LeaseId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.domain.patterns.keys import PathProbe
from mcp_agent_mail.store.engine.port import Connection

_COLUMNS = """
    l.id, l.project_id, l.agent_id, a.name, l.kind, l.path_pattern, l.is_folder, l.ignore_case, l.exclusive, l.reason,
    l.branch, l.created_ts, l.expires_ts, l.released_ts, l.ended_by, l.evidence, l.fencing, l.promises
"""
_FROM = f"SELECT {_COLUMNS} FROM leases l JOIN agents a ON a.id = l.agent_id"
_JOINED = f"SELECT {_COLUMNS} FROM leases l {{index}} JOIN agents a ON a.id = l.agent_id"

_FIND = f"{_FROM} WHERE l.id = ?"
_FIND_MANY = f"{_FROM} WHERE l.id IN (SELECT value FROM json_each(?)) ORDER BY l.id LIMIT ?"
_LIVE = f"""
    {_JOINED.format(index="INDEXED BY leases_live")}
    WHERE l.project_id = ? AND l.kind = ? AND l.released_ts IS NULL AND l.expires_ts > ? AND l.id > ?
    ORDER BY l.id LIMIT ?
"""
_NEWEST = f"""
    {_JOINED.format(index="INDEXED BY leases_live")}
    WHERE l.project_id = ? AND l.kind = ? AND l.released_ts IS NULL AND l.expires_ts > ?
    ORDER BY l.id DESC LIMIT ?
"""
_ALL = f"{_FROM} WHERE l.project_id = ? AND l.kind = ? AND l.id > ? ORDER BY l.id LIMIT ?"
_PAST_AT = f"""
    {_JOINED.format(index="INDEXED BY leases_of_project")}
    WHERE l.project_id = ? AND l.kind = ? AND l.id < ?
      AND (l.anchor IN ({{anchors}}) OR (l.anchor >= ? AND l.anchor < ?))
    ORDER BY l.id DESC LIMIT ?
"""
_GRANTED_AFTER = f"""
    {_FROM} WHERE l.fencing > ? AND +l.project_id = ? AND +l.kind = ? AND l.released_ts IS NULL
    ORDER BY l.fencing LIMIT ?
"""
_AT_ANCHORS = f"""
    {_JOINED.format(index="INDEXED BY leases_keys")}
    WHERE l.project_id = ? AND l.kind = ? AND l.released_ts IS NULL AND l.exclusive IN (?, 1) AND l.agent_id <> ?
      AND l.anchor IN (SELECT value FROM json_each(?))
    ORDER BY l.id LIMIT ?
"""
_AT_ANCHORS_AND_TAILS = f"""
    {_JOINED.format(index="INDEXED BY leases_keys")}
    WHERE l.project_id = ? AND l.kind = ? AND l.released_ts IS NULL AND l.exclusive IN (?, 1) AND l.agent_id <> ?
      AND l.anchor IN (SELECT value FROM json_each(?)) AND l.tail IN (SELECT value FROM json_each(?))
    ORDER BY l.id LIMIT ?
"""
_BELOW = f"""
    {_JOINED.format(index="INDEXED BY leases_keys")}
    WHERE l.project_id = ? AND l.kind = ? AND l.released_ts IS NULL AND l.exclusive IN (?, 1) AND l.agent_id <> ?
      AND l.anchor >= ? AND l.anchor < ?
    ORDER BY l.id LIMIT ?
"""
_OF_AGENT = f"""
    {_JOINED.format(index="INDEXED BY leases_of_agent")}
    WHERE l.agent_id = ? AND l.released_ts IS NULL AND l.id > ? ORDER BY l.id LIMIT ?
"""
_OWN = f"""
    {_JOINED.format(index="INDEXED BY leases_of_agent")}
    WHERE l.agent_id = ? AND l.released_ts IS NULL AND l.kind = ? AND l.expires_ts > ?
      AND l.path_pattern IN (SELECT value FROM json_each(?))
    ORDER BY l.id LIMIT ?
"""
_LIVE_OF_AGENT = f"""
    {_JOINED.format(index="INDEXED BY leases_of_agent")}
    WHERE l.agent_id = ? AND l.released_ts IS NULL AND l.kind = ? AND l.expires_ts > ? ORDER BY l.id DESC LIMIT ?
"""
_COUNT_OF_AGENT = """
    SELECT count(*) FROM leases INDEXED BY leases_of_agent
    WHERE agent_id = ? AND released_ts IS NULL AND kind = ? AND expires_ts > ?
"""
_LAPSED = f"""
    {_JOINED.format(index="INDEXED BY leases_lapsed")}
    WHERE l.agent_id = ? AND l.ended_by = 'expiry' AND l.expires_ts > ? AND l.kind = ?
    ORDER BY l.id DESC LIMIT ?
"""
_EXPIRED_UNSWEPT = f"""
    {_JOINED.format(index="INDEXED BY leases_expiry")}
    WHERE l.released_ts IS NULL AND l.expires_ts <= ? ORDER BY l.expires_ts, l.id LIMIT ?
"""
_GIVEN_WAY = """
    SELECT w.value ->> 0 FROM json_each(?) w JOIN leases l ON l.id = w.value ->> 0
    WHERE l.released_ts IS NOT NULL OR l.expires_ts <= ? OR l.fencing <> w.value ->> 1 OR l.expires_ts < w.value ->> 2
    LIMIT ?
"""
_DRAW = "UPDATE counters SET value = value + ? WHERE name = 'fencing' RETURNING value"
_FENCING = "SELECT value FROM counters WHERE name = 'fencing'"
_COUNT_ENDS = "UPDATE counters SET value = value + ? WHERE name = 'leases_ended'"
_ENDS = "SELECT value FROM counters WHERE name = 'leases_ended'"
_ADD = """
    INSERT INTO leases (
        project_id, agent_id, kind, path_pattern, is_folder, ignore_case, anchor, tail, exclusive, reason, branch,
        created_ts, expires_ts, fencing
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    RETURNING id
"""
_PROLONG = "UPDATE leases SET expires_ts = ?, reason = ?, promises = promises + 1 WHERE id = ?"
_PROMISE = "UPDATE leases SET promises = promises + 1 WHERE id IN (SELECT value FROM json_each(?))"
_COUNT_OFF = "UPDATE leases SET promises = promises - 1 WHERE id = ?"
_SHORTEN = "UPDATE leases SET expires_ts = ?, reason = ? WHERE id = ?"
_REGRANT = """
    UPDATE leases SET expires_ts = ?, reason = ?, exclusive = ?, is_folder = ?, anchor = ?, tail = ?, fencing = ?,
        released_ts = NULL, ended_by = NULL, evidence = NULL, promises = promises + 1
    WHERE id = ?
"""
_END = """
    UPDATE leases SET released_ts = ?, ended_by = ?, evidence = ? WHERE id = ? AND released_ts IS NULL RETURNING id
"""

_Row = tuple[Any, ...]  # mixed columns, in the order of _COLUMNS


def _at(micros: int | None) -> Micros | None:
    return None if micros is None else Micros(micros)


def _lease(row: _Row) -> Lease:
    return Lease(
        id=LeaseId(row[0]),
        project_id=ProjectId(row[1]),
        agent_id=AgentId(row[2]),
        agent=row[3],
        kind=LeaseKind(row[4]),
        path_pattern=row[5],
        is_folder=bool(row[6]),
        ignore_case=bool(row[7]),
        exclusive=bool(row[8]),
        reason=row[9],
        branch=row[10],
        created_ts=Micros(row[11]),
        expires_ts=Micros(row[12]),
        released_ts=_at(row[13]),
        ended_by=None if row[14] is None else EndedBy(row[14]),
        evidence=None if row[15] is None else json.loads(row[15]),
        fencing=row[16],
        promises=row[17],
    )


def _below(folder: str) -> tuple[str, str]:
    """The anchors below a folder are from the first of these on, and before the second."""
    return (f"{folder}/", f"{folder}0") if folder else ("\x01", "\U0010ffff")


def _text_of(evidence: Mapping[LeaseId, Mapping[str, Any]] | None, lease_id: LeaseId) -> str | None:
    return None if evidence is None or lease_id not in evidence else json.dumps(evidence[lease_id])


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictFilter:
    """Which leases can stand against `agent_id`: those of others, the shared ones only if `with_shared`."""

    project_id: ProjectId
    kind: LeaseKind
    agent_id: AgentId
    with_shared: bool

    @property
    def values(self) -> tuple[object, ...]:
        return (self.project_id, self.kind, not self.with_shared, self.agent_id)


class Leases:
    """Live is what has neither ended nor expired. Not ended is what nobody has ended yet, expired or not."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _list(self, sql: str, *values: object) -> list[Lease]:
        return [_lease(row) for row in self._connection.execute(sql, values)]

    def find(self, lease_id: LeaseId) -> Lease | None:
        row = self._connection.execute(_FIND, (lease_id,)).fetchone()
        return None if row is None else _lease(row)

    def find_many(self, ids: Collection[LeaseId]) -> list[Lease]:
        """Those of the leases that exist, ended or not, by id."""
        return self._list(_FIND_MANY, json.dumps(list(ids)), len(ids))

    def live(
        self, project_id: ProjectId, kind: LeaseKind, now: Micros, *, after_id: int = 0, limit: int
    ) -> list[Lease]:
        """The project's live leases of this kind with ids above `after_id`, oldest first."""
        return self._list(_LIVE, project_id, kind, now, after_id, limit)

    def newest_live(self, project_id: ProjectId, kind: LeaseKind, now: Micros, limit: int) -> list[Lease]:
        """The project's live leases of this kind, newest first."""
        return self._list(_NEWEST, project_id, kind, now, limit)

    def list_(self, project_id: ProjectId, kind: LeaseKind, *, after_id: int = 0, limit: int) -> list[Lease]:
        """All leases of this kind that the project ever had, with ids above `after_id`, oldest first."""
        return self._list(_ALL, project_id, kind, after_id, limit)

    def past(self, project_id: ProjectId, probe: PathProbe, *, before_id: int, limit: int) -> list[Lease]:
        """Leases of files, ended ones too, that may cover what `probe` tells: ids below `before_id`, newest first."""
        sql = _PAST_AT.format(anchors=", ".join("?" * len(probe.anchors)))
        below = _below(probe.folder) if probe.folder is not None else ("", "")
        return self._list(sql, project_id, LeaseKind.FILE, before_id, *probe.anchors, *below, limit)

    def granted_after(self, project_id: ProjectId, kind: LeaseKind, fencing: int, limit: int) -> list[Lease]:
        """Not ended, with a higher fencing number. Walks what the whole store has granted since."""
        return self._list(_GRANTED_AFTER, fencing, project_id, kind, limit)

    def at_anchors(self, standing: ConflictFilter, anchors: Collection[str], limit: int) -> list[Lease]:
        """Leases that are not ended and have one of these anchors."""
        return self._list(_AT_ANCHORS, *standing.values, json.dumps(list(anchors)), limit)

    def at_keys(
        self, standing: ConflictFilter, anchors: Collection[str], tails: Collection[str], limit: int
    ) -> list[Lease]:
        """Not ended, with one of the anchors and one of the tails: probed one by one."""
        keys = (json.dumps(list(anchors)), json.dumps(list(tails)))
        return self._list(_AT_ANCHORS_AND_TAILS, *standing.values, *keys, limit)

    def below(self, standing: ConflictFilter, folder: str, limit: int) -> list[Lease]:
        """Not ended, with an anchor below `folder` (which ends in no slash; empty is the root: every anchor but it)."""
        return self._list(_BELOW, *standing.values, *_below(folder), limit)

    def of_folder(self, project_id: ProjectId, other_than: AgentId, folder: str, limit: int) -> list[Lease]:
        """Exclusive ones of files, not ended, at `folder` or below it: of other agents than this one."""
        standing = ConflictFilter(project_id=project_id, kind=LeaseKind.FILE, agent_id=other_than, with_shared=False)
        return [*self.at_anchors(standing, [folder], limit), *self.below(standing, folder, limit)]

    def of_agent(self, agent_id: AgentId, *, after_id: int = 0, limit: int) -> list[Lease]:
        """The agent's leases that are not ended, of both kinds, by id."""
        return self._list(_OF_AGENT, agent_id, after_id, limit)

    def live_of_agent(self, agent_id: AgentId, kind: LeaseKind, now: Micros, limit: int) -> list[Lease]:
        """The agent's live leases of this kind, the newest `limit`, newest first."""
        return self._list(_LIVE_OF_AGENT, agent_id, kind, now, limit)

    def own(self, agent_id: AgentId, kind: LeaseKind, names: Collection[str], now: Micros) -> dict[str, Lease]:
        """The agent's live leases of exactly these patterns (or slots), by pattern."""
        found = self._list(_OWN, agent_id, kind, now, json.dumps(list(names)), len(names))
        return {lease.path_pattern: lease for lease in found}

    def count_of_agent(self, agent_id: AgentId, kind: LeaseKind, now: Micros) -> int:
        """How many live leases of this kind the agent has."""
        (number,) = self._connection.execute(_COUNT_OF_AGENT, (agent_id, kind, now)).fetchone()
        return int(number)

    def lapsed(self, agent_id: AgentId, kind: LeaseKind, since: Micros, limit: int) -> list[Lease]:
        """The agent's leases that ended by their expiry after `since`, newest first."""
        return self._list(_LAPSED, agent_id, since, kind, limit)

    def expired_unswept(self, now: Micros, limit: int) -> list[Lease]:
        """Expired, in all projects, but not ended yet: the longest expired first."""
        return self._list(_EXPIRED_UNSWEPT, now, limit)

    def ended_among(self, watched: Collection[tuple[LeaseId, int, Micros]], now: Micros) -> set[LeaseId]:
        """Of these leases, each with its fencing number and expiry, those that have ended or expired, end sooner now,
        or were granted anew.
        """
        rows = self._connection.execute(_GIVEN_WAY, (json.dumps(list(watched)), now, len(watched)))
        return {LeaseId(lease_id) for (lease_id,) in rows}

    def fencing(self) -> int:
        """The highest fencing number given out."""
        (number,) = self._connection.execute(_FENCING).fetchone()
        return int(number)

    def ends(self) -> int:
        """A number that rises whenever a lease ends, or may leave room for others: whoever waits compares it."""
        (number,) = self._connection.execute(_ENDS).fetchone()
        return int(number)

    def add(self, new: NewLease, now: Micros) -> Lease:
        """Grant the lease with the next fencing number. Whether it may be granted is the caller's to know, in the same
        unit.
        """
        (lease,) = self.add_many([new], now)
        return lease

    def add_many(self, new: Sequence[NewLease], now: Micros) -> list[Lease]:
        """Grant all of them, as `add` does, with fencing numbers that rise in this order."""
        last = self._draw(len(new))
        return [self._add(one, now, last - len(new) + number) for number, one in enumerate(new, start=1)]

    def _add(self, new: NewLease, now: Micros, fencing: int) -> Lease:
        values = (
            new.project_id,
            new.agent_id,
            new.kind,
            new.path_pattern,
            new.is_folder,
            new.ignore_case,
            new.keys.anchor,
            new.keys.tail,
            new.exclusive,
            new.reason,
            new.branch,
            now,
            new.expires_ts,
            fencing,
        )
        (lease_id,) = self._connection.execute(_ADD, values).fetchone()
        return Lease(
            id=LeaseId(lease_id),
            project_id=new.project_id,
            agent_id=new.agent_id,
            agent=new.agent,
            kind=new.kind,
            path_pattern=new.path_pattern,
            is_folder=new.is_folder,
            ignore_case=new.ignore_case,
            exclusive=new.exclusive,
            reason=new.reason,
            branch=new.branch,
            created_ts=now,
            expires_ts=new.expires_ts,
            released_ts=None,
            ended_by=None,
            evidence=None,
            fencing=fencing,
        )

    def prolong(self, lease: Lease, expires_ts: Micros, *, reason: str | None = None) -> Lease:
        """Give the lease another expiry and one more promise; a reason of None stays what it was. `lease` is as this
        very unit has read it.
        """
        said = lease.reason if reason is None else reason
        self._connection.execute(_PROLONG, (expires_ts, said, lease.id))
        return replace(lease, expires_ts=expires_ts, reason=said, promises=lease.promises + 1)

    def promise(self, ids: Collection[LeaseId]) -> None:
        """Count one more promise on each of these leases: their holder is told of them again."""
        self._connection.execute(_PROMISE, (json.dumps(list(ids)),))

    def count_off(self, lease_id: LeaseId) -> Lease:
        """Take one promise off the lease, since nobody heard it; the lease as it is then."""
        self._connection.execute(_COUNT_OFF, (lease_id,))
        return self._require(lease_id)

    def shorten(self, lease: Lease, before: Lease) -> Lease:
        """Give the lease the expiry and reason that it had `before`: a prolongation that nobody heard of is undone.
        Waiting calls look again.
        """
        self._connection.execute(_SHORTEN, (before.expires_ts, before.reason, lease.id))
        self._connection.execute(_COUNT_ENDS, (1,))
        return self._require(lease.id)

    def regrant(
        self, lease: Lease, expires_ts: Micros, *, exclusive: bool, is_folder: bool, keys: LeaseKeys, reason: str
    ) -> Lease:
        """Grant the lease anew under its id, with the next fencing number: it had lapsed, or reaches further now.
        Waiting calls look again.
        """
        values = (expires_ts, reason, exclusive, is_folder, keys.anchor, keys.tail, self._draw(1), lease.id)
        self._connection.execute(_REGRANT, values)
        # Whoever waits for it may find room beside it now.
        self._connection.execute(_COUNT_ENDS, (1,))
        return self._require(lease.id)

    def end(
        self,
        ends: Sequence[tuple[LeaseId, Micros]],
        ended_by: EndedBy,
        evidence: Mapping[LeaseId, Mapping[str, Any]] | None = None,
    ) -> list[Lease]:
        """End each at its time, and keep what its end rests on; those that had ended already are left as they are
        and out of the answer.

        Not by itself: `store/lease_events.py` tells the archive in the same unit.
        """
        ended = []
        for lease_id, at in ends:
            values = (at, ended_by, _text_of(evidence, lease_id), lease_id)
            if self._connection.execute(_END, values).fetchone() is not None:
                ended.append(lease_id)
        if not ended:
            return []
        self._connection.execute(_COUNT_ENDS, (len(ended),))
        return self.find_many(ended)

    def each(self, project_id: ProjectId, kind: LeaseKind, *, at_once: int = 500) -> Iterator[Lease]:
        """All leases of this kind that the project ever had, by id, however many; read in pages."""
        after = 0
        while page := self.list_(project_id, kind, after_id=after, limit=at_once):
            yield from page
            after = page[-1].id

    def _draw(self, count: int) -> int:
        (number,) = self._connection.execute(_DRAW, (count,)).fetchone()
        return int(number)

    def _require(self, lease_id: LeaseId) -> Lease:
        lease = self.find(lease_id)
        assert lease is not None, lease_id
        return lease
