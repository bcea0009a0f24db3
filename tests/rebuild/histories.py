"""Random histories: the same seed plays the same steps, but for the names and tokens that the product makes up."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.project_identity import MARKER_FILE
from tests.rebuild import door_steps, lease_steps, mail_steps, people_steps, project_steps
from tests.rebuild.history import LATE, PROGRAM, History, Step, chosen
from tests.rebuild.world import open_world
from tests.seeded_store import SetClock
from tests.store_templates import blank_store

STEPS: tuple[Step, ...] = (
    *mail_steps.STEPS,
    *people_steps.STEPS,
    *lease_steps.STEPS,
    *project_steps.STEPS,
    *door_steps.STEPS,
)
LENGTH = 180
_AGENTS_AT_FIRST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a history left: a store whose archives hold everything. `now` is when it ended."""

    root: Path
    now: Micros
    succeeded: Counter[str]
    refused: Counter[str]

    @property
    def database(self) -> Path:
        return self.root / "mail.sqlite3"

    @property
    def archives(self) -> Path:
        return self.root / "projects"


async def play(folder: Path, seed: int, *, length: int = LENGTH) -> Played:
    """A history in `folder`, which is made: its store, and the code that its projects are about."""
    clock = SetClock()
    async with begun(folder, seed, clock) as history:
        await go_on(history, clock, length)
    return played_by(history, clock)


@asynccontextmanager
async def begun(folder: Path, seed: int, clock: SetClock) -> AsyncIterator[History]:
    """With projects and agents."""
    code, root = folder / "code", folder / "store"
    _write_code(code)
    blank_store().lay(root / "mail.sqlite3")
    async with open_world(root, root / "mail.sqlite3", clock) as world:
        history = History(world=world, chance=random.Random(seed), code=code)
        await _begin(history)
        yield history


async def go_on(history: History, clock: SetClock, length: int) -> None:
    """So many steps; all of them are in Git afterwards."""
    for _ in range(length):
        clock.step(history.chance.choice([0, 0.000001, 1, 30]))
        await chosen(STEPS, history.chance).take(history)
    await history.world.store.end_expired()
    await history.world.drain()


def played_by(history: History, clock: SetClock) -> Played:
    """What it has left until now."""
    root = history.world.settings.storage_root
    return Played(root=root, now=clock.now, succeeded=history.succeeded, refused=history.refused)


async def _begin(history: History) -> None:
    for directory in ("app", "lib", LATE):
        project = str(history.code / directory)
        await history.do("ensure_project", human_key=project)
        for _ in range(_AGENTS_AT_FIRST):
            await history.do("register_agent", project_key=project, name=history.name_in(project), **PROGRAM)


def _write_code(code: Path) -> None:
    """`app` is a project by its repository, `lib` by the uid that a file of its own gives it."""
    for directory in ("app/sub", "lib", "late"):
        (code / directory / "deep").mkdir(parents=True)
        for name in mail_steps.FILES:
            path = code / directory / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{name} of {directory}\n")
    for name in mail_steps.FILES:
        (code / "app" / name).parent.mkdir(exist_ok=True)
        (code / "app" / name).write_text(f"{name} of app\n")
    (code / "link-to-app").symlink_to("app")
    (code / "lib" / MARKER_FILE).write_text("lib-of-the-histories\n")
    subprocess.run(["git", "init", "-q", str(code / "app")], check=True)
