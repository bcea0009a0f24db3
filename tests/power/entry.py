"""Starts the server, or its archiver, recorded: and, where a test asks for it, with one guard taken out.

The way in belongs to the tests alone: product code knows no switch for any of this. Run as
`python -P entry.py [--without=GUARD] serve …`; the archiver, which inherits nothing, is told again.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

# A script's own folder is not on the path with -P, and the tests' root is not there at all.
sys.path.insert(0, str(Path(__file__).parents[2]))

CHECKPOINT_PAGES = 60
PACKS = 6
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
    if arguments[0] == "migrate":
        return migrate(Path(arguments[1]))
    if arguments[0] == "care":
        return care(Path(arguments[1]), in_workspace=arguments[2] == "workspace", seed=int(arguments[3]))
    if arguments[0] == "contents":
        return keep_contents(Path(arguments[1]), seed=int(arguments[2]))
    if arguments[0] == "swaps":
        return put_stores_in_place(Path(arguments[1]))
    record_the_children(without)
    sys.argv = ["am", *arguments]
    from mcp_agent_mail.__main__ import main as am

    am()
    return 0


def migrate(path: Path) -> int:
    from tests.power.log import Log
    from tests.power.migrations import bring_to_next_schema, fill, make

    log = Log(Path(os.environ["POWER_LOG"]))
    for step in (make, fill, bring_to_next_schema):
        step(path)
        log.answered({"what": step.__name__})
    return 0


def care(disk: Path, *, in_workspace: bool, seed: int) -> int:
    from tests.power.care import live
    from tests.power.log import Log

    live(disk, Log(Path(os.environ["POWER_LOG"])), in_workspace=in_workspace, seed=seed)
    return 0


def keep_contents(root: Path, *, seed: int) -> int:
    from tests.power.contents import live
    from tests.power.log import Log

    live(root, Log(Path(os.environ["POWER_LOG"])), seed)
    return 0


def put_stores_in_place(root: Path) -> int:
    from tests.power.log import Log
    from tests.power.swaps import live

    live(root, Log(Path(os.environ["POWER_LOG"])))
    return 0


def replace(module: str, name: str, value: object) -> None:
    """Anything else than what is there now; what has moved or was renamed fails loudly."""
    owner: Any = import_module(f"mcp_agent_mail.{module}")
    for part in name.split(".")[:-1]:
        owner = getattr(owner, part)
    last = name.rpartition(".")[2]
    assert hasattr(owner, last), f"{module}.{name} is gone"
    setattr(owner, last, value)


def record_the_children(without: str) -> None:
    environment = [f"{name}={os.environ[name]}" for name in RECORDING]
    guard = [f"--without={without}"] if without else []
    command = ("/usr/bin/env", *environment, sys.executable, "-P", __file__, *guard, "archiver")
    replace("features.archiving.service", "_COMMAND", command)
    images: tuple[str, ...] = import_module("mcp_agent_mail.features.attachments.images")._COMMAND
    replace("features.attachments.images", "_COMMAND", ("/usr/bin/env", *environment, *images))


def make_rare_things_frequent() -> None:
    """Checkpoints and joining of packs, which a run of seconds would not see."""
    replace("archive.writer", "MANY_PACKS", PACKS)
    configure_writing(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")


def configure_writing(pragma: str) -> None:
    open_writing: Callable[..., sqlite3.Connection] = import_module("mcp_agent_mail.store.database").open_writing

    def configured(path: Path, *, echo: bool = False, counts: bool = False) -> sqlite3.Connection:
        connection = open_writing(path, echo=echo, counts=counts)
        connection.execute(pragma)
        return connection

    replace("store.database", "open_writing", configured)


def nothing(*_arguments: object) -> None:
    """Stands in for a sync."""


def without_sync_of_the_ref() -> None:
    config: tuple[str, ...] = import_module("mcp_agent_mail.archive.fast_import")._CONFIG
    left = tuple(entry for entry in config if not entry.startswith("core.fsync="))
    assert left != config
    replace("archive.fast_import", "_CONFIG", left)


def without_sync_of_the_folders() -> None:
    """Those of packs and branches; Git leaves them to us."""
    replace("archive.fast_import", "sync_path", nothing)
    replace("archive.repository", "ArchiveRepository.sync_folders", nothing)


def without_sync_of_the_files_people_read() -> None:
    """The note of an unclean stop goes with the refresh of the index, and nobody mends what is torn then."""
    replace("archive.steps", "Syncing._run", nothing)


def without_sync_of(folders: bool) -> None:
    """Of the folders in which contents get their names, or of the contents."""
    sync: Callable[..., None] = import_module("mcp_agent_mail.core.file_sync").sync_path

    def half(path: Path, *, follow: bool) -> None:
        if path.is_dir() != folders:
            sync(path, follow=follow)

    replace("archive.attachments", "sync_path", half)


def without_sync_of_what_was_built() -> None:
    replace("store.engine.sqlite.swap", "sync_tree", nothing)


def without_a_configuration_of_our_own() -> None:
    """Git itself then writes that the archive is thinned, and never syncs it."""
    replace("archive.months", "switch_on", nothing)


GUARDS: dict[str, Callable[[], None]] = {
    "synchronous-full-but-normal": lambda: configure_writing("PRAGMA synchronous=NORMAL"),
    "synchronous-full-but-off": lambda: configure_writing("PRAGMA synchronous=OFF"),
    "sync-of-the-ref": without_sync_of_the_ref,
    "sync-of-the-folders": without_sync_of_the_folders,
    "sync-of-the-files": without_sync_of_the_files_people_read,
    "sync-of-contents": lambda: without_sync_of(folders=False),
    "sync-of-their-folders": lambda: without_sync_of(folders=True),
    "sync-of-what-was-built": without_sync_of_what_was_built,
    "own-configuration": without_a_configuration_of_our_own,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
