"""A store whose archives are looked after all the time: what the recorded process does, and what must be left of it.

The drain runs in this process, without a server, so that its clock can go through a year in seconds: packs are
joined, months put away and brought back, indexes refreshed, while commits go on.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.protocol import CareFailed, CheckOut, Failed
from mcp_agent_mail.store.engine.sqlite.migrate import migrate
from tests.archive_harness import ArchiveHarness, open_archive_harness
from tests.power.log import Log

STORE = "store"
CODE = "code"
PROJECTS = ("app", "lib")
FILES = 30
MONTHS = 6
TURNS = 12
STEPS_TO_REST = 40
LOOK_S = 0.02
_DAY = 86_400
_NOT_TO_STAY = ("index.lock", "agent-mail/open", "agent-mail/index.new")
_FIRST_MONTH = "2027-02"


def prepare(disk: Path) -> None:
    """The directories of code that the projects are about, each a repository; and a store, made as servers make it."""
    (disk / STORE).mkdir(parents=True)
    migrate(disk / STORE / "mail.sqlite3", fault_hook=no_fault)
    for name in PROJECTS:
        subprocess.run(["git", "init", "-q", "--template=", disk / CODE / name], check=True)


def live(disk: Path, log: Log, *, in_workspace: bool, seed: int) -> None:
    chance = random.Random(seed)
    with open_archive_harness(disk / STORE) as harness:
        settle(harness, in_workspace=in_workspace)
        teams = [_team(harness, disk / CODE / name) for name in PROJECTS]
        for month in range(MONTHS):
            os.sync()  # A month passes: what was written is on disk by itself.
            harness.clock.step(31 * _DAY)
            log.mark("stop" if month % 2 else "start")
            with harness.drain() as drain:
                drain.resume()
                for _ in range(TURNS):
                    _turn(harness, drain, log, teams, chance)
                _ask_for_the_first_month(drain, teams, month)
                _rest(harness, drain)
                if month % 2:
                    drain.flush(Micros(harness.clock() + 60 * SECOND))
        failed = [report for report in harness.reports if isinstance(report, Failed | CareFailed)]
        assert failed == [], failed


def settle(harness: ArchiveHarness, *, in_workspace: bool) -> None:
    harness.max_tracked_files = FILES
    harness.in_workspace = in_workspace


def _team(harness: ArchiveHarness, code: Path) -> tuple[Project, list[Agent]]:
    with harness.together():
        project = harness.add_project(str(code))
        return project, [harness.add_agent(project, name) for name in ("BlueLake", "RedStone", "GrayFox")]


def _turn(
    harness: ArchiveHarness,
    drain: Drain,
    log: Log,
    teams: Sequence[tuple[Project, list[Agent]]],
    chance: random.Random,
) -> None:
    for project, agents in teams:
        if chance.random() < 0.8:
            sender, *others = chance.sample(agents, 3)
            with harness.together():
                message = harness.send(sender, others, body="word " * chance.randrange(200))
                harness.describe(project, sender, f"After {message.id}")
            log.answered({"what": "sent", "message_id": message.id})
    harness.clock.step(chance.choice((0.6, 0.6, 3.0)))
    drain.step()
    threading.Event().wait(LOOK_S)


def _ask_for_the_first_month(drain: Drain, teams: Sequence[tuple[Project, list[Agent]]], month: int) -> None:
    if month in {3, 4}:
        drain.check_out(CheckOut(number=month, project=teams[month % 2][0].slug, month=_FIRST_MONTH))


def _rest(harness: ArchiveHarness, drain: Drain) -> None:
    """Nothing new comes: indexes are refreshed, packs joined, months put away."""
    harness.clock.step(3)
    for _ in range(STEPS_TO_REST):
        drain.step()
        threading.Event().wait(LOOK_S)


def faults_of_cared_for(disk: Path, answered: set[int], *, in_workspace: bool) -> list[str]:
    """What is wrong once the next drain has ended what it found."""
    try:
        with open_archive_harness(disk / STORE) as harness:
            settle(harness, in_workspace=in_workspace)
            return _faults(harness, answered)
    except Exception as broken:  # noqa: BLE001  # A damaged store fails in many ways; each is a finding.
        return [f"the examination ends with {broken!r}"]


def _faults(harness: ArchiveHarness, answered: set[int]) -> list[str]:
    newest, stored = 0, set()
    for message_id, created in harness.connection.execute("SELECT id, created_ts FROM messages"):
        newest = max(newest, created)
        stored.add(message_id)
    harness.clock.now = Micros(max(harness.clock.now, newest) + SECOND)
    faults = [f"message {lost} is not in SQLite" for lost in sorted(answered - stored)]
    if left := harness.archive():
        faults.append(f"{left} events are not in Git")
    faults += [
        f"{failed.project}: {failed.message}" for failed in harness.reports if isinstance(failed, Failed | CareFailed)
    ]
    faults += [f"{found.check}: {found.problem}: {found.path}" for found in harness.verify().findings[:5]]
    for place in sorted(place for place in (harness.root / "projects").glob("*") if place.is_dir()):
        faults += _faults_of_archive(place)
    return faults


def _faults_of_archive(place: Path) -> list[str]:
    fsck = subprocess.run(["git", "-C", place, "fsck", "--strict"], capture_output=True, text=True, check=False)
    left = [
        name for name in ("index.lock", "agent-mail/open", "agent-mail/index.new") if (place / ".git" / name).exists()
    ]
    look = subprocess.run(["git", "-C", place, "status", "--porcelain"], capture_output=True, text=True, check=False)
    status = look.stdout + look.stderr
    found = [f"{name} was left" for name in left]
    found += [f"fsck: {fsck.stderr[:3_000]}"] if fsck.returncode else []
    found += [f"status: {status[:200]}"] if status else []
    return [f"{place.name}: {fault}" for fault in found]
