"""`kill -9` of imports at any instant, of the command that has the store and of the server that it goes through."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.facades.importers.mcp_store import MadeStore, make_mcp_store
from tests.facades.importers.untouched import state_of
from tests.imports.compared import mail_of_source, mail_of_store
from tests.served import Served, pause

_ENDS_WITHIN_S = 600.0
_LONGEST_S = 0.4


class KillRounds:
    """One store and one source: an import is killed again and again, then it is let through. `done` counts what was
    tried, `faults` says what was found.
    """

    def __init__(self, folder: Path, seed: int, *, messages: int) -> None:
        self._dice = random.Random(seed)
        self._server = Served(folder / "store", HOME=str(folder))
        self._made: MadeStore = make_mcp_store(folder / "older", messages=messages, seed=seed, copies=False)
        # Without its mail the archive is read at once: what is killed is to be the writing.
        for mail in self._made.archive.glob("projects/*/messages"):
            shutil.rmtree(mail)
        self._before = state_of(self._made.database, self._made.archive)
        self.done: Counter[str] = Counter()
        self.faults: list[str] = []

    def play(self, kills: int) -> None:
        """So many kills, by turns; whenever an import came through all the same, its mail goes on from the start."""
        self._server.start()
        self._server.stop()
        for number in range(kills):
            self._kill_server() if number % 2 else self._kill_command()
        self._let_through()

    def _kill_command(self) -> None:
        """It has the store itself; all that it started goes with it."""
        process = self._spawn(self._environment())
        self._wait_until_it_writes(process)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._count_kill("command")

    def _kill_server(self) -> None:
        self._server.start()
        process = self._spawn(self._environment())
        self._wait_until_it_writes(process)
        self._server.kill()
        process.wait(_ENDS_WITHIN_S)
        self._count_kill("server")

    def _count_kill(self, what: str) -> None:
        self.done[f"kills of the {what}"] += 1
        brought = self._brought()
        if self.done["records before the last kill"] < brought:
            self.done["kills after which more was there"] += 1
        self.done["records before the last kill"] = brought

    def _let_through(self) -> None:
        for is_last in (False, True):
            done = self._server.am(*import_command(self._made)[3:])
            if done.returncode:
                self.faults.append(f"An import in peace ended with {done.returncode}: {done.stderr[-500:]}")
                return
            report = json.loads(done.stdout)
            if is_last and any(one["added"] for one in report["counts"].values()):
                self.faults.append(f"The second run in peace brought in more: {report['counts']}")
        self.faults += mail_of_source(self._made).faults_of(mail_of_store(self._server.database))
        verified = self._server.am("doctor", "verify")
        if verified.returncode:
            self.faults.append(f"am doctor verify: {verified.stdout[-500:]}{verified.stderr[-500:]}")
        if state_of(self._made.database, self._made.archive) != self._before:
            self.faults.append("The source is not what it was.")
        self.done["messages in the end"] = mail_of_store(self._server.database).messages.total()

    def _environment(self) -> dict[str, str]:
        return self._server.environment()

    def _spawn(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            import_command(self._made),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._server.root.parent,
            env=environment,
            start_new_session=True,
        )

    def _wait_until_it_writes(self, process: subprocess.Popen[bytes]) -> None:
        """Until it has committed something, or is through; and then an instant, in which it goes on."""
        before = self._brought()
        deadline = time.monotonic() + _ENDS_WITHIN_S
        while process.poll() is None and self._brought() == before and time.monotonic() < deadline:
            pause()
        if process.poll() is None:
            self.done["kills amid an import"] += 1
        with suppress(subprocess.TimeoutExpired):
            process.wait(self._dice.uniform(0, _LONGEST_S))

    def _brought(self) -> int:
        """What is committed, while it is written as well: agents too, which come first."""
        with closing(sqlite3.connect(f"file:{self._server.database}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM imported").fetchone()[0])


def import_command(made: MadeStore, *more: str) -> list[str]:
    """`am import mcp-agent-mail` of the whole store, with `--apply` and as JSON unless `more` is given."""
    words = more or ("--apply", "--json")
    place = ["mcp-agent-mail", str(made.database), "--archive", str(made.archive)]
    return [sys.executable, "-m", "mcp_agent_mail", "import", *place, *words]


# Plain JSON.
def listed(report: dict[str, Any], kind: str) -> int:
    """What a report says is not taken over, of one kind, for whatever reason."""
    return sum(one["count"] for one in report["left"] if one["kind"] == kind)
