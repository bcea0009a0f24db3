"""Starts the server, and its archiver, so that they end at a named instant, or without one of their guards.

The way in belongs to the tests alone: product code knows no switch for any of this. Run as
`python -P launcher.py JSON serve --host H --port P`; the archiver, which inherits nothing, is told again.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# A script's own folder is not on the path with -P, and the tests' root is not there at all.
sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, Faults, Kill, reach_that_kills
from mcp_agent_mail.domain.archive_format.versions import OLDEST_VERSION
from tests.power.entry import replace as exchange

PACKS = 6
IDLE_MICROS = 200_000
AGAIN_AFTER_MICROS = 500_000
"""So few packs are soon as few as they can be: what care cannot do just now must not keep it from the rest for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doom:
    """What is to happen to a server. Points are counted from the moment at which the file `armed` is there.

    `files`: so many files of an archive, and its old months are put away. `has_next_schema`: as a newer
    version, with one migration more. `days_ago`: its clock is so much behind. `begins_old_archives`: as the version
    before, whose archives are of version 1 of the format.
    """

    armed: str
    server: tuple[str, int] | None = None
    archiver: tuple[str, int] | None = None
    files: int | None = None
    has_next_schema: bool = False
    days_ago: int = 0
    begins_old_archives: bool = False
    without: str = ""

    def to_text(self) -> str:
        return json.dumps(asdict(self))


def main(arguments: list[str]) -> int:
    doom = Doom(**json.loads(arguments[0]))
    make_rare_things_frequent()
    if doom.days_ago:
        set_clock_back(doom.days_ago)
    if doom.begins_old_archives:
        begin_old_archives()
    if doom.without:
        GUARDS[doom.without]()
    if arguments[1] == "archiver":
        exchange("archiver", "reach_that_kills", lambda kill: Armed(doom.armed, kill))
        from mcp_agent_mail.archiver import main as archive

        return archive()
    return serve(doom, dict(zip(arguments[2::2], arguments[3::2], strict=True)))


def serve(doom: Doom, options: dict[str, str]) -> int:
    from mcp_agent_mail.core.settings.server import load_settings
    from mcp_agent_mail.server.serve import serve as run

    if doom.has_next_schema:
        add_migration()
    command = (sys.executable, "-P", __file__, doom.to_text(), "archiver")
    exchange("features.archiving.service", "_COMMAND", command)
    overrides = {"HTTP_HOST": options["--host"], "HTTP_PORT": options["--port"]}
    settings = load_settings(os.environ, cwd=Path.cwd(), overrides=overrides).settings
    if doom.files is not None:
        settings = replace(settings, archive_max_tracked_files=doom.files)
    faults = Faults(fault_hook=Armed(doom.armed, kill_of(doom.server)), archiver=kill_of(doom.archiver))
    return run(settings, faults=faults)


def kill_of(at: tuple[str, int] | None) -> Kill | None:
    return None if at is None else Kill(point=FailPoint(at[0]), nth=at[1])


@dataclass(slots=True)
class Armed:
    """Does nothing until the file is there."""

    file: str
    kill: Kill | None
    _fault_hook: FaultHook = field(init=False)

    def __post_init__(self) -> None:
        self._fault_hook = reach_that_kills(self.kill)

    def __call__(self, point: FailPoint) -> None:
        if self.kill is not None and point is self.kill.point and os.path.exists(self.file):  # noqa: PTH110  # cheapest
            self._fault_hook(point)


def make_rare_things_frequent() -> None:
    """Joining of packs and the refresh of the index, which a run of seconds would not see."""
    exchange("archive.writer", "MANY_PACKS", PACKS)
    exchange("features.archiving.index_refresh", "IDLE", IDLE_MICROS)
    exchange("features.archiving.maintenance", "_AGAIN_AFTER", AGAIN_AFTER_MICROS)


def set_clock_back(days: int) -> None:
    behind = days * 24 * 3_600 * 1_000_000_000
    exchange("core.clock", "time", SimpleNamespace(time_ns=lambda: time.time_ns() - behind))


def begin_old_archives() -> None:
    """And convert none."""
    exchange("archive.writer", "FORMAT_VERSION", OLDEST_VERSION)
    exchange("archiver", "open_drain", partial(open_drain_before, import_module("mcp_agent_mail.archiver").open_drain))


def open_drain_before(open_drain: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What `open_drain` opens, that converts nothing."""
    return open_drain(*arguments, **{**named, "converts": False})


def add_migration() -> None:
    from mcp_agent_mail.store.engine.sqlite.migrate import Migration, shipped_migrations

    shipped = shipped_migrations()
    newest = Migration(version=len(shipped) + 1, sql="CREATE TABLE next AS SELECT * FROM messages;\n")
    exchange("store.engine.sqlite.migrate", "shipped_migrations", lambda: [*shipped, newest])


def nothing(*_arguments: Any, **_named: Any) -> None:
    """Stands in for a guard."""


def without_store_lock() -> None:
    exchange("store.engine.lock", "_take", nothing)
    exchange("store.engine.lock", "_take_folder", nothing)


GUARDS: dict[str, Callable[[], None]] = {"store-lock": without_store_lock}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
