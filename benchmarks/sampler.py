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
from pathlib import Path
from typing import Any

LOOK_EVERY_S = 0.025


class OutboxWatch:
    def __init__(self, database: Path) -> None:
        self._db = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=5, isolation_level=None)
        (self._last_commit,) = self._db.execute("SELECT coalesce(max(id), 0) FROM commits").fetchone()
        self._first_commit = self._last_commit
        self._began = time.time()
        self._lags: list[float] = []
        self._backlog = [0]

    def look(self) -> None:
        """Note the events committed since the last look, and how many still wait."""
        now = time.time()
        rows = self._db.execute(
            "SELECT o.commit_id, o.created_ts FROM outbox o WHERE o.commit_id > ?", (self._last_commit,)
        ).fetchall()
        for commit_id, created in rows:
            self._last_commit = max(self._last_commit, commit_id)
            self._lags.append(now - created / 1e6)
        (waiting,) = self._db.execute("SELECT count(*) FROM outbox WHERE commit_id IS NULL").fetchone()
        self._backlog.append(waiting)

    def summary(self) -> dict[str, Any]:
        seconds = time.time() - self._began
        per_project = [
            count
            for (count,) in self._db.execute(
                "SELECT count(*) FROM commits WHERE id > ? GROUP BY project_id", (self._first_commit,)
            )
        ]
        lags = sorted(self._lags)

        def lag(share: float) -> float | None:
            return round(lags[min(len(lags) - 1, int(share * len(lags)))], 3) if lags else None

        return {
            "seconds": round(seconds, 2),
            "events": len(lags),
            "lag_p50_s": lag(0.5),
            "lag_p99_s": lag(0.99),
            "lag_max_s": lag(1.0),
            "commits_per_project_s": round(max(per_project, default=0) / seconds, 2),
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
