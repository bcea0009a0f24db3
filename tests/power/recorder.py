"""Runs a recorded server under the agents of the kill rounds and keeps the log of what reached the disk."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.clients import Agent, set_up
from tests.crash.record import Cell, Record, Sent, Value
from tests.power.care import prepare
from tests.power.log import Log
from tests.served import Served, pause

SHIM = Path(__file__).with_name("shim.c")
ENTRY = Path(__file__).with_name("entry.py")
CLIENTS = 8
SENDS = 120
WORK_AT_MOST_S = 5.0
COMMIT_INTERVAL_MS = 100  # so that a run of seconds has many commits
QUIET_S = 3.0  # long enough for the index to be refreshed


@dataclass(frozen=True, slots=True)
class Recording:
    """`root` still is what the last process left there. What it began with: a copy, and its inodes by path."""

    log: Path
    root: Path
    before: Path | None = None
    inodes: dict[str, int] = field(default_factory=dict)


def no_recorder() -> str | None:
    """Why nothing can be recorded here; None when it can."""
    if sys.platform != "linux":
        return "the recorder of what reaches the disk is made for Linux"
    if shutil.which("cc") is None:
        return "NO LOSS OF POWER WAS SIMULATED: there is no C compiler (cc) to build the recorder with"
    return None


def build_shim(folder: Path) -> Path:
    shim = folder / "shim.so"
    flags = ("-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-U_FORTIFY_SOURCE")
    subprocess.run(["cc", *flags, "-o", shim, SHIM, "-ldl"], check=True)
    return shim


class LoggedRecord(Record):
    """Puts every answer into the log at the moment it came, so that its order with the syncs is known."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def add_sent(self, sent: Sent) -> None:
        self._log.answered(
            {
                "what": "sent",
                "message_id": sent.message_id,
                "project": sent.project,
                "sender": sent.sender,
                "recipients": sent.recipients,
                "subject": sent.subject,
                "body": sent.body,
                "carried": sent.carried,
            }
        )
        super().add_sent(sent)

    def add_read(self, project: str, agent: str, message_id: int, at: str) -> None:
        self._log.answered({"what": "read", "key": [project, agent, message_id, at]})
        super().add_read(project, agent, message_id, at)

    def add_acknowledged(self, project: str, agent: str, message_id: int, at: str) -> None:
        self._log.answered({"what": "acknowledged", "key": [project, agent, message_id, at]})
        super().add_acknowledged(project, agent, message_id, at)

    def begin(self, cell: Cell, value: Value) -> None:
        self._log.answered({"what": "begun", "cell": cell, "value": value})
        super().begin(cell, value)

    def settle(self, cell: Cell, value: Value) -> None:
        self._log.answered({"what": "settled", "cell": cell, "value": value})
        super().settle(cell, value)


def recording_environment(root: Path, log: Log, shim: Path) -> dict[str, Any]:
    return {"LD_PRELOAD": str(shim), "POWER_ROOT": str(root), "POWER_LOG": str(log.path)}


class RecordedServer(Served):
    def __init__(self, root: Path, log: Log, shim: Path, *, without: str = "") -> None:
        super().__init__(
            root,
            ALLOW_ABSOLUTE_ATTACHMENT_PATHS="true",
            ARCHIVE_COMMIT_INTERVAL_MS=str(COMMIT_INTERVAL_MS),
            **recording_environment(root, log, shim),
        )
        self._without = without

    def command(self) -> list[str]:
        guard = [f"--without={self._without}"] if self._without else []
        return [sys.executable, "-P", str(ENTRY), *guard, "serve"]


def record_run(folder: Path, shim: Path, *, seed: int, without: str = "") -> Recording:
    """Start on nothing, work, be quiet, work, stop, start, work, be killed with nothing left to archive.

    Killed while it writes, a server leaves a write on the disk that it had no time to note: that is a hole in the
    recording and not a loss of power, which the log is cut for at every instant of the work anyway.
    """
    root = folder.resolve() / "store"
    log = Log(folder.resolve() / "power.log")
    record = LoggedRecord(log)
    server = RecordedServer(root, log, shim, without=without)
    with server:
        set_up(server, record)
        work(server, record, seed)
        threading.Event().wait(QUIET_S)
        work(server, record, seed + 1)
        log.mark("stop")
        server.stop()
        log.mark("start")
        server.start()
        work(server, record, seed + 2)
        server.await_drained()
        server.kill()
    wait_for_the_archiver(root)
    assert record.unexpected == []
    return Recording(log.path, root)


def record_migrations(folder: Path, shim: Path) -> Recording:
    """Make a store, fill it, and bring it to a schema that is not there yet."""
    root = folder.resolve() / "store"
    root.mkdir()
    log = Log(folder.resolve() / "power.log")
    environment = os.environ | recording_environment(root, log, shim)
    subprocess.run([sys.executable, "-P", ENTRY, "migrate", root / "mail.sqlite3"], env=environment, check=True)
    return Recording(log.path, root)


def record_contents(folder: Path, shim: Path, *, seed: int, without: str = "") -> Recording:
    """Contents of attachments that many threads keep at once, without a server."""
    root = folder.resolve() / "store"
    root.mkdir()
    log = Log(folder.resolve() / "power.log")
    guard = [f"--without={without}"] if without else []
    command = [sys.executable, "-P", str(ENTRY), *guard, "contents", str(root), str(seed)]
    subprocess.run(command, env=os.environ | recording_environment(root, log, shim), check=True)
    return Recording(log.path, root)


def record_swaps(folder: Path, shim: Path, *, without: str = "") -> Recording:
    """Stores that take the place of one another, without a server."""
    root = folder.resolve() / "store"
    root.mkdir()
    log = Log(folder.resolve() / "power.log")
    guard = [f"--without={without}"] if without else []
    command = [sys.executable, "-P", str(ENTRY), *guard, "swaps", str(root)]
    subprocess.run(command, env=os.environ | recording_environment(root, log, shim), check=True)
    return Recording(log.path, root)


def record_care(folder: Path, shim: Path, *, in_workspace: bool, seed: int, without: str = "") -> Recording:
    """Archives that are looked after all the time, in the store or in the directories of code beside it."""
    root, before = folder.resolve() / "disk", folder.resolve() / "before"
    prepare(root)
    inodes = _copy(root, before)
    log = Log(folder.resolve() / "power.log")
    guard = [f"--without={without}"] if without else []
    place = "workspace" if in_workspace else "store"
    command = [sys.executable, "-P", str(ENTRY), *guard, "care", str(root), place, str(seed)]
    subprocess.run(command, env=os.environ | recording_environment(root, log, shim), check=True)
    return Recording(log.path, root, before, inodes)


def _copy(place: Path, copy: Path) -> dict[str, int]:
    """The inodes of `place`, by path."""
    subprocess.run(["cp", "-a", place, copy], check=True)  # names of one file stay names of one file
    return {path.relative_to(place).as_posix(): path.stat().st_ino for path in place.rglob("*") if path.is_file()}


def record_recovery(folder: Path, shim: Path, left: Path) -> Recording:
    """Start on what a loss of power left, until all is mended and drained and the archives are quiet; be killed."""
    root = folder.resolve() / "store"
    before = folder.resolve() / "before"
    _copy(left, root)
    inodes = _copy(root, before)
    log = Log(folder.resolve() / "power.log")
    with RecordedServer(root, log, shim) as server:
        server.await_drained()
        threading.Event().wait(QUIET_S)
        server.kill()
    wait_for_the_archiver(root)
    return Recording(log.path, root, before, inodes)


def wait_for_the_archiver(root: Path) -> None:
    """It ends by itself once the server is gone; it and Git's processes hold these locks until then."""
    for place in (root / "archive.lock", *(root / "archive-locks").glob("*")):
        with place.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)


def work(server: Served, record: Record, seed: int) -> None:
    """Until so many more sends were answered: a fast machine makes no longer log."""
    before = len(record.sent)
    agents = [Agent(server, record, number, seed) for number in range(CLIENTS)]
    for agent in agents:
        agent.start()
    deadline = time.monotonic() + WORK_AT_MOST_S
    while len(record.sent) - before < SENDS and time.monotonic() < deadline:
        pause()
    for agent in agents:
        agent.leave()
    for agent in agents:
        agent.join()
