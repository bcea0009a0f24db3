"""One store after the other put in the place of the last: what the recorded process does, and what must be left."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.store_owner import SWAP_FILE
from mcp_agent_mail.store.engine.sqlite.swap import finish_swap, swap
from mcp_agent_mail.store.engine.sqlite.swap_places import Move, SwapPlaces
from tests.power.log import Log

SWAPS = 12
FILES = ("mail.sqlite3", "projects/app/.git/HEAD", "projects/app/mail.md", "attachments/ab/content")
PARTS = ("mail.sqlite3", "projects", "attachments")


def live(root: Path, log: Log) -> None:
    """An answer says that a store is in its place."""
    for number in range(SWAPS):
        built, kept = root / "restoring", root / "undo" / str(number)
        _build(built, number)
        moves = [Move(place=root / part, built=built / part, kept=kept / part) for part in PARTS]
        swap(_places(root), moves, leftovers=[built])
        log.answered({"store": number})


def _places(root: Path) -> SwapPlaces:
    return SwapPlaces(storage_root=root, database_path=root / "mail.sqlite3")


def _build(folder: Path, number: int) -> None:
    for name, text in _whole(number).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def faults_of_swapped(root: Path, recorded_root: Path, answered: list[int]) -> list[str]:
    """Once whoever comes next has finished: the last store that was answered, or the next one, all of it."""
    journal = root / SWAP_FILE
    if journal.exists():
        journal.write_text(journal.read_text().replace(str(recorded_root), str(root)))
    finish_swap(_places(root))
    there = {path.relative_to(root).as_posix(): path.read_text() for part in PARTS for path in _files(root / part)}
    last = max(answered, default=-1)
    expected = [_whole(number) for number in (last, last + 1)]
    return [] if there in expected else [f"{ {name: text[:10] for name, text in there.items()} } after {last}"]


def _whole(number: int) -> dict[str, str]:
    return {name: f"{number} {name}\n" * 100 for name in FILES} if number >= 0 else {}


def _files(place: Path) -> list[Path]:
    return [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
