"""Watches the outbox from outside: `python -m benchmarks.sampler DATABASE`, ends when its input closes.

A process of its own with a read-only connection, so that neither the server nor the load measures
itself. Every event's lag is from its creation to the first look at which it is marked as committed:
an upper bound, up to one look late. Prints one JSON object.
"""

from __future__ import annotations

import json
import select
import sqlite3
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

LOOK_EVERY_S = 0.025


def _rate(times: list[float]) -> float:
    """Per second, from the first to the last: a pace of one each 0.5 s is 2.0, however short the watch."""
    return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 and times[-1] > times[0] else 0.0


class OutboxWatch:
    def __init__(self, database: Path) -> None:
        self._db = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=5, isolation_level=None)
        (self._last_commit,) = self._db.execute("SELECT coalesce(max(id), 0) FROM commits").fetchone()
        self._commits: dict[int, list[float]] = defaultdict(list)
        self._began = time.time()
        self._lags: list[float] = []
        self._backlog = [0]

    def look(self) -> None:
        """Note the events committed since the last look, and how many still wait."""
        now = time.time()
        rows = self._db.execute(
            "SELECT commit_id, project_id, created_ts FROM outbox WHERE commit_id > ?", (self._last_commit,)
        ).fetchall()
        for commit_id, project_id in {(row[0], row[1]) for row in rows}:
            self._last_commit = max(self._last_commit, commit_id)
            self._commits[project_id].append(now)
        self._lags += [now - created / 1e6 for _, _, created in rows]
        (waiting,) = self._db.execute("SELECT count(*) FROM outbox WHERE commit_id IS NULL").fetchone()
        self._backlog.append(waiting)

    def summary(self) -> dict[str, Any]:
        seconds = time.time() - self._began
        lags = sorted(self._lags)

        def lag(share: float) -> float | None:
            return round(lags[min(len(lags) - 1, int(share * len(lags)))], 3) if lags else None

        return {
            "seconds": round(seconds, 2),
            "events": len(lags),
            "lag_p50_s": lag(0.5),
            "lag_p99_s": lag(0.99),
            "lag_max_s": lag(1.0),
            "commits_per_project_s": round(max(map(_rate, self._commits.values()), default=0.0), 1),
            "events_per_s": round(len(lags) / seconds, 1),
            "backlog_max": max(self._backlog),
            "backlog_end": self._backlog[-1],
        }


def main() -> None:
    watch = OutboxWatch(Path(sys.argv[1]))
    while not select.select([sys.stdin], [], [], LOOK_EVERY_S)[0]:
        watch.look()
    watch.look()
    print(json.dumps(watch.summary()))


if __name__ == "__main__":
    main()
