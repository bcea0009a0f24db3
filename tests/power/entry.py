"""Starts the server, or its archiver, recorded: and, where a test asks for it, with one guard taken out.

The way in belongs to the tests alone: product code knows no switch for any of this. Run as
`python -P entry.py [--without=GUARD] serve …`; the archiver, which inherits nothing, is told again.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

# A script's own folder is not on the path with -P, and the tests' root is not there at all.
sys.path.insert(0, str(Path(__file__).parents[2]))

CHECKPOINT_PAGES = 60
PACKS = 6
REPACK_EVERY = 3
RECORDING = ("LD_PRELOAD", "POWER_ROOT", "POWER_LOG")


def main(arguments: list[str]) -> int:
    without = ""
    if arguments[0].startswith("--without="):
        without = arguments.pop(0).partition("=")[2]
    make_rare_things_frequent()
    if without:
        GUARDS[without]()
    if arguments[0] == "archiver":
        from mcp_agent_mail.archiver import main as archive

        return archive()
    record_the_archiver(without)
    sys.argv = ["am", *arguments]
    from mcp_agent_mail.__main__ import main as am

    return int(am() or 0)


def record_the_archiver(without: str) -> None:
    from mcp_agent_mail.features.archiving import service

    environment = [f"{name}={os.environ[name]}" for name in RECORDING]
    guard = [f"--without={without}"] if without else []
    service._COMMAND = ("/usr/bin/env", *environment, sys.executable, "-P", __file__, *guard, "archiver")  # type: ignore[assignment]


def make_rare_things_frequent() -> None:
    """Checkpoints and repacks, which a run of seconds would not see."""
    from mcp_agent_mail.archive import writer
    from mcp_agent_mail.features.archiving import drain

    writer.MANY_PACKS = PACKS
    drain._REPACK_EVERY = REPACK_EVERY
    configure_writing(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")


def configure_writing(pragma: str) -> None:
    from mcp_agent_mail.store import database

    open_writing = database.open_writing

    def configured(path: Path, *, echo: bool = False) -> sqlite3.Connection:
        connection = open_writing(path, echo=echo)
        connection.execute(pragma)
        return connection

    database.open_writing = configured


def without_sync_of_the_ref() -> None:
    from mcp_agent_mail.archive import fast_import

    fast_import._CONFIG = tuple(entry for entry in fast_import._CONFIG if not entry.startswith("core.fsync="))  # type: ignore[assignment]


def without_sync_of_the_folders() -> None:
    """Those of packs and branches; Git leaves them to us."""
    from mcp_agent_mail.archive import fast_import, writer

    fast_import.sync = lambda path: None
    writer.ArchiveWriter._sync_folders = lambda self: None  # type: ignore[method-assign]


def without_sync_of_the_files_people_read() -> None:
    """The note of an unclean stop goes with the refresh of the index, and nobody mends what is torn then."""
    from mcp_agent_mail.archive import writer

    writer.ArchiveWriter._sync_what_people_see = lambda self: None  # type: ignore[method-assign]


GUARDS: dict[str, Callable[[], None]] = {
    "synchronous-full-but-normal": lambda: configure_writing("PRAGMA synchronous=NORMAL"),
    "synchronous-full-but-off": lambda: configure_writing("PRAGMA synchronous=OFF"),
    "sync-of-the-ref": without_sync_of_the_ref,
    "sync-of-the-folders": without_sync_of_the_folders,
    "sync-of-the-files": without_sync_of_the_files_people_read,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
