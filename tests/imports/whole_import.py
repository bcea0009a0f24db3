"""One large store with everything that bites, brought in twice: counts, time, memory, the bytes of the source."""

from __future__ import annotations

import json
import resource
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.facades.importers.mcp_store import MadeStore, make_mcp_store
from tests.facades.importers.untouched import state_of
from tests.imports.compared import mail_of_source, mail_of_store
from tests.imports.rounds import import_command, listed
from tests.served import Served

_ENDS_WITHIN_S = 3_600.0
_TABLES = {
    "projects": "projects",
    "agents": "agents",
    "messages": "messages",
    "copies": "message_recipients",
    "leases": "file_reservations",
    "links": "agent_links",
    "products": "products",
}
_MIB = 1024


class WholeImport:
    """`figures` are lines to print, `faults` what was found to be wrong."""

    def __init__(self, folder: Path, *, messages: int, seed: int) -> None:
        self._server = Served(folder / "store", HOME=str(folder))
        self._made: MadeStore = make_mcp_store(folder / "older", messages=messages, seed=seed)
        self.figures: list[str] = []
        self.faults: list[str] = []

    def play(self) -> None:
        """A dry run, an import, and another one, in the process of the command; then the doctor."""
        self._server.start()
        self._server.stop()
        before = state_of(self._made.database, self._made.archive)
        dry = self._run("dry run", "--json")
        applied = self._run("import", "--apply", "--json")
        again = self._run("second import", "--apply", "--json")
        if state_of(self._made.database, self._made.archive) != before:
            self.faults.append("The source is not what it was: names, sizes, times and SHA-256 were compared.")
        self.figures.append(f"{len(before):,} files and folders of the source are what they were, by SHA-256 and times")
        self._compare(dry, applied, again)
        self.faults += mail_of_source(self._made).faults_of(mail_of_store(self._server.database))
        verified = self._server.am("doctor", "verify")
        if verified.returncode:
            self.faults.append(f"am doctor verify: {verified.stdout[-500:]}")

    # Plain JSON.
    def _run(self, what: str, *words: str) -> dict[str, Any]:
        began = time.monotonic()
        done = subprocess.run(
            import_command(self._made, *words),
            capture_output=True,
            check=False,
            timeout=_ENDS_WITHIN_S,
            cwd=self._server.root.parent,
            env=self._server.environment(),
        )
        took_s = time.monotonic() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // _MIB
        self.figures.append(f"{what}: {took_s:.1f} s, {peak} MiB at most so far of any process")
        if done.returncode:
            self.faults.append(f"{what} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
            return {"counts": {}, "left": []}
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    # Likewise.
    def _compare(self, dry: dict[str, Any], applied: dict[str, Any], again: dict[str, Any]) -> None:
        for kind, table in _TABLES.items():
            one = applied["counts"].get(kind, {"found": 0, "added": 0, "left": 0})
            beside = {"messages": self._made.purged, "copies": self._made.purged}.get(kind, 0)
            rows = self._made.rows[table] + beside
            given = one["added"] + one["left"]
            if kind == "agents":
                given += listed(applied, "rows of senders in other projects")
            listed_rows = rows - one["added"]
            self.figures.append(f"{kind}: {rows:,} in the source, {one['added']:,} brought in, {listed_rows:,} listed")
            if given != rows:
                self.faults.append(f"{kind}: {rows} in the source, {given} brought in or listed")
        for kind, one in again["counts"].items():
            if one["added"]:
                self.faults.append(f"The second import added {one['added']} {kind}")
            if one["found"] and dry["counts"][kind]["added"] != applied["counts"][kind]["added"]:
                self.faults.append(f"The dry run promised other {kind}")
