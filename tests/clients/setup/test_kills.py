"""`kill -9` at each instant of a setup and of its undo: the way back is always there, and leads to the same bytes."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.contract_wishes import wishes_of
from mcp_agent_mail.clients.setup.journal import Journal
from mcp_agent_mail.clients.setup.places import Surroundings
from mcp_agent_mail.clients.setup.plan import carry_out, make_plan
from mcp_agent_mail.clients.setup.wishes import FileWish
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from tests.clients.setup.homes import KINDS, SETTINGS, Kind, made_up, snapshot
from tests.clients.setup.instants import OF_THE_END, OF_THE_JOURNAL, OF_THE_WAY_BACK, OF_WRITES

BOTH = "claude,codex,cline"
FILES = 13
"""Two of Claude's, two of Codex's, nine of Cline's: all of them are written, whatever is there."""

SCRIPT = Path(__file__).with_name("killed.py")
JOURNAL = ".config/mcp-agent-mail/setup/journal.json"


def run(home: Path, action: str, *doom: object) -> int:
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    command = [sys.executable, "-P", str(SCRIPT), str(home), action, BOTH, *map(str, doom)]
    return subprocess.run(command, env=environ, check=False, timeout=60).returncode


def home_of(tmp_path: Path, kind: Kind) -> Path:
    """Three clients in one home."""
    made = tmp_path / "home"
    for client in BOTH.split(","):
        made_up(tmp_path / client, client, kind)
    made.mkdir()
    for client in BOTH.split(","):
        for path in sorted((tmp_path / client).rglob("*")):
            there = made / path.relative_to(tmp_path / client)
            if path.is_dir():
                there.mkdir(exist_ok=True)
            else:
                path.rename(there)
    return made


KILLED = (KINDS[0], KINDS[2])
INSTANTS = [(point, nth) for point in OF_WRITES for nth in (1, 3, FILES)]


@pytest.mark.parametrize("kind", KILLED, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("point", "nth"), INSTANTS)
def test_a_killed_setup_is_taken_back_and_a_killed_one_is_finished(
    point: FailPoint, nth: int, kind: Kind, tmp_path: Path
) -> None:
    home = home_of(tmp_path, kind)
    before = snapshot(home)

    assert run(home, "setup", point.value, nth) == -signal.SIGKILL
    assert stat.S_IMODE((home / JOURNAL).stat().st_mode) == 0o600
    assert run(home, "undo") == 0
    assert snapshot(home) == before

    assert run(home, "setup", point.value, nth) == -signal.SIGKILL
    finished = run(home, "setup")
    assert run(home, "undo") == 0

    # How many files were left alone.
    assert finished == 0
    assert snapshot(home) == before


@pytest.mark.parametrize("kind", KILLED, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("point", "nth"), [(point, nth) for point in OF_THE_WAY_BACK for nth in (1, 4)])
def test_a_killed_undo_is_finished(point: FailPoint, nth: int, kind: Kind, tmp_path: Path) -> None:
    home = home_of(tmp_path, kind)
    before = snapshot(home)
    assert run(home, "setup") == 0

    assert run(home, "undo", point.value, nth) == -signal.SIGKILL
    assert run(home, "undo") == 0

    assert snapshot(home) == before


def test_a_kill_while_a_file_is_staged_for_the_way_back_leaves_nothing_beside_it(tmp_path: Path) -> None:
    home = home_of(tmp_path, KINDS[2])
    before = snapshot(home)
    assert run(home, "setup") == 0

    assert run(home, "undo", FailPoint.SETUP_STAGED.value, 1) == -signal.SIGKILL
    assert run(home, "undo") == 0

    assert snapshot(home) == before


@pytest.mark.parametrize("has_config", [False, True])
@pytest.mark.parametrize(("point", "nth"), OF_THE_JOURNAL)
def test_a_kill_before_anything_is_noted_leaves_nothing_that_is_not_taken_back(
    point: FailPoint, nth: int, has_config: bool, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    (home / ".config" if has_config else home).mkdir(parents=True)
    before = snapshot(home)

    assert run(home, "setup", point.value, nth) == -signal.SIGKILL
    assert snapshot(home) != before
    assert run(home, "undo") == 0
    assert snapshot(home) == before

    assert run(home, "setup", point.value, nth) == -signal.SIGKILL
    assert run(home, "setup") == 0
    assert run(home, "undo") == 0
    assert snapshot(home) == before


@pytest.mark.parametrize("has_config", [False, True])
@pytest.mark.parametrize(("point", "nth"), OF_THE_END)
def test_a_kill_while_the_journal_goes_leaves_no_folder_that_is_not_taken_away(
    point: FailPoint, nth: int, has_config: bool, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    (home / ".config" if has_config else home).mkdir(parents=True)
    before = snapshot(home)

    assert run(home, "setup") == 0
    assert run(home, "undo", point.value, nth) == -signal.SIGKILL
    assert snapshot(home) != before
    assert run(home, "undo") == 0
    assert snapshot(home) == before

    assert run(home, "setup") == 0
    assert run(home, "undo", point.value, nth) == -signal.SIGKILL
    assert run(home, "setup") == 0
    assert run(home, "undo") == 0
    assert snapshot(home) == before


def failing(point: FailPoint, nth: int, failure: BaseException) -> FaultHook:
    left = nth

    def fault_hook(reached: FailPoint) -> None:
        nonlocal left
        left -= reached is point
        if left == 0 and reached is point:
            raise failure

    return fault_hook


def set_up(home: Path, wanted: list[FileWish], fault_hook: FaultHook = no_fault) -> list[Path]:
    """The files that were left alone."""
    journal = Journal(home)
    plan = make_plan(wanted, project=None)
    with journal.held():
        carry_out(plan, journal, fault_hook)
    return [one.path for one in plan.left_alone]


def wanted_in(home: Path, *, elsewhere: bool = False) -> list[FileWish]:
    """`elsewhere`: with another server, and an `am` that lies at another place."""
    settings = replace(SETTINGS, am="/usr/bin/am", url="http://127.0.0.1:8998/mcp") if elsewhere else SETTINGS
    around = Surroundings(home=home, environ={})
    return [wish for client in BOTH.split(",") for wish in wishes_of(client, settings, around, None)]


ROUNDS = [(point, nth) for point in OF_WRITES for nth in (1, 3)]


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(5, "Input/output error")], ids=["ctrl-c", "eio"])
@pytest.mark.parametrize("is_second", [False, True], ids=["first", "second"])
@pytest.mark.parametrize(("point", "nth"), ROUNDS)
def test_a_setup_that_is_interrupted_or_fails_at_any_instant_is_taken_back(
    point: FailPoint, nth: int, is_second: bool, failure: BaseException, tmp_path: Path
) -> None:
    """Of a second one too, which has another server in the place of the first one's."""
    home = home_of(tmp_path, KINDS[2])
    before = snapshot(home)
    wanted = wanted_in(home)
    if is_second:
        assert set_up(home, wanted) == []
        wanted = wanted_in(home, elsewhere=True)

    with suppress(KeyboardInterrupt):
        left_alone = set_up(home, wanted, failing(point, nth, failure))
        # A folder that the disk does not take is no failure: the file has its name.
        assert len(left_alone) == (point is not FailPoint.SETUP_NAMED)

    assert run(home, "undo") == 0
    assert snapshot(home) == before
