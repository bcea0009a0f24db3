"""Moves an archive that lies in its project whole, as they did formerly, into the store.

Its Git directory is data of anybody who can write to the project. Only objects and the branch are taken, file by file
and no link followed; each pack is read through by Git here, in the store, and all of it checked before it counts.
Its configuration, hooks, attributes and whatever else are left where they are.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from typing import IO

from mcp_agent_mail.archive.folders import NotAFile, facts_of, opened, opened_file
from mcp_agent_mail.archive.git_folder import STATE, ArchiveRefused
from mcp_agent_mail.archive.months import MonthsNote, months_in
from mcp_agent_mail.archive.ownership import store_of
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository
from mcp_agent_mail.archive.workspace import WORKSPACE_FOLDER, require_project
from mcp_agent_mail.core.file_sync import sync_path, sync_tree
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain

MOVING_FOLDER = "moving"
"""Beside the folder of all archives: where one is built until it is whole."""

_LIMIT_S = 3_600.0
RESERVE_BYTES = 256 << 20
"""Stay free on the disk of the store: its database needs some."""
MOST_FILES = 1_000_000
_CHUNK = 1 << 20
_SMALL_BYTES = 64 * 1024
_REFS_BYTES = 16 << 20
_FAN = lazy_pattern(r"[0-9a-f]{2}")
_LOOSE = lazy_pattern(r"[0-9a-f]{38}")
_PACK = lazy_pattern(r"pack-[0-9a-f]{40}\.pack")
_COMMIT = lazy_pattern(r"[0-9a-f]{40}")


class MoveRefused(ArchiveRefused):
    """What lies in the project is not taken for this store's archive."""


def move_into_store(link: Path, store_id: str) -> None:
    """Let the archive that `link` leads to lie in the store, its files where they are. Safe to repeat after any stop.

    Raises ArchiveRefused and leaves everything as it was.
    """
    work_tree = link.readlink()
    if work_tree.name != WORKSPACE_FOLDER or not work_tree.is_absolute():
        raise MoveRefused(
            f"{link} is a link to {work_tree}, and an archive's Git directory lies in the store.",
            hint=f"Stop the server, and put the archive itself to {link}.",
            data={"path": str(link)},
        )
    require_project(link, work_tree)
    folder = link.parent.parent / MOVING_FOLDER
    folder.mkdir(exist_ok=True, mode=0o700)
    for leftover in folder.glob(f"{link.name}.*"):
        shutil.rmtree(leftover, ignore_errors=True)
    whole = folder / link.name
    shutil.rmtree(whole, ignore_errors=True)
    building = Path(mkdtemp(prefix=f"{link.name}.", dir=folder))
    try:
        _copy(work_tree, building, store_id, link)
    except (NotADirectoryError, FileNotFoundError, NotAFile) as missing:
        shutil.rmtree(building, ignore_errors=True)
        raise _refused(
            link, work_tree, f"{missing.filename or work_tree} is no plain file or folder of Git"
        ) from missing
    except UnfitFile as unfit:
        shutil.rmtree(building, ignore_errors=True)
        raise _refused(link, work_tree, unfit.message.removesuffix(".")) from unfit
    except (GitFailed, MoveRefused):
        shutil.rmtree(building, ignore_errors=True)
        raise
    building.rename(whole)
    sync_path(folder)
    link.unlink()
    sync_path(link.parent)
    finish_move(link)


def finish_move(place: Path) -> None:
    """One that a stop interrupted after all had been copied: the link is gone, what takes its place is there whole."""
    whole = place.parent.parent / MOVING_FOLDER / place.name
    if whole.is_dir() and not place.is_symlink() and not place.exists():
        whole.rename(place)
        sync_path(place.parent)
        sync_path(whole.parent)


def _copy(work_tree: Path, building: Path, store_id: str, link: Path) -> None:
    building.chmod(0o755)
    new = ArchiveRepository(building)
    new.create(work_tree)
    for name in ("commondir", "objects/info/alternates"):
        with suppress(FileNotFoundError):
            facts_of(work_tree, f".git/{name}")
            raise _refused(link, work_tree, f".git/{name} leads to another repository")
    tip = _tip(work_tree)
    months = _read(work_tree, f"{STATE}", "months", _SMALL_BYTES)
    if tip is None:
        raise _refused(link, work_tree, f"it has no branch {BRANCH}")
    try:
        _copy_objects(work_tree, new, _Room(link, work_tree, shutil.disk_usage(building).free - RESERVE_BYTES))
        new.git("update-ref", BRANCH, tip, config=("core.fsync=all",))
        new.git("fsck", "--strict", "--no-dangling", "--no-progress", timeout_s=_LIMIT_S)
    except GitFailed as broken:
        raise _refused(link, work_tree, broken.message) from broken
    if (found := store_of(new)) != store_id:
        raise _refused(link, work_tree, f"it belongs to {f'store {found}' if found else 'no store'}")
    if months:
        MonthsNote(building / STATE).write(replace(months_in(months), cone=""))
    # What its files are is not known: opening compares the last ones, and the index is built anew.
    (building / STATE / "open").touch()
    sync_tree(building)


def _refused(link: Path, work_tree: Path, why: str) -> MoveRefused:
    return MoveRefused(
        f"{work_tree} is not taken for the archive that {link} stands for: {why}.",
        hint=f"Put the right archive back to {work_tree}: it is then moved by itself. If it is lost, stop the server, "
        f"move {work_tree} away, remove the link {link} and run `am doctor repair`.",
        data={"path": str(work_tree), "link": str(link)},
    )


class _Room:
    """How much may still be copied: what lies in the project may be of any size, and a file there may have holes."""

    def __init__(self, link: Path, work_tree: Path, left: int) -> None:
        self._link = link
        self._work_tree = work_tree
        self._bytes = left
        self._files = MOST_FILES

    def names(self, fd: int, is_wanted: Callable[[str], re.Match[str] | None]) -> list[str]:
        """Those in the open folder that are wanted."""
        with os.scandir(fd) as entries:
            found = [entry.name for entry in islice(entries, self._files + 1)]
        self._files -= len(found)
        if self._files < 0:
            raise self._refusal(f"it has more than {MOST_FILES:,} files")
        return sorted(name for name in found if is_wanted(name))

    def copy(self, file: int, copy: IO[bytes]) -> None:
        """An open file as large as it is now, though somebody may be writing to it."""
        size = left = os.fstat(file).st_size
        self._bytes -= size
        if self._bytes < 0:
            raise self._refusal(f"it needs more than what is free on the disk of {self._link.parent}")
        while left and (chunk := os.read(file, min(_CHUNK, left))):
            left -= len(chunk)
            copy.write(chunk)

    def _refusal(self, why: str) -> MoveRefused:
        return MoveRefused(
            f"{self._work_tree} is not copied into the store: {why}.",
            hint=f"Look what takes so much in {self._work_tree / '.git' / 'objects'}. If it is the archive, run "
            "`git gc` there or free some space: it is then moved by itself.",
            data={"path": str(self._work_tree), "link": str(self._link)},
        )


def _copy_objects(work_tree: Path, new: ArchiveRepository, room: _Room) -> None:
    packs = new.git_path / "objects" / "pack"
    with opened(work_tree, ".git/objects") as objects:
        fans = room.names(objects, _FAN.fullmatch)
    for fan in fans:
        target = new.git_path / "objects" / fan
        target.mkdir()
        _copy_files(work_tree, f".git/objects/{fan}", target, _LOOSE.fullmatch, room)
    for name in _copy_files(work_tree, ".git/objects/pack", packs, _PACK.fullmatch, room):
        new.git("index-pack", str(packs / name), config=("core.fsync=all",), timeout_s=_LIMIT_S)


def _copy_files(
    work_tree: Path, folder: str, target: Path, is_wanted: Callable[[str], re.Match[str] | None], room: _Room
) -> list[str]:
    with opened(work_tree, folder) as fd:
        names = room.names(fd, is_wanted)
        for name in names:
            with opened_file(fd, name) as file, (target / name).open("xb") as copy:
                room.copy(file, copy)
            (target / name).chmod(0o444)
    return names


def _tip(work_tree: Path) -> str | None:
    """Where the branch stands, read as Git writes it."""
    folder, _, name = BRANCH.rpartition("/")
    found = _read(work_tree, f".git/{folder}", name, _SMALL_BYTES).strip()
    if not found:
        lines = _read(work_tree, ".git", "packed-refs", _REFS_BYTES).split("\n")
        found = next((line.partition(" ")[0] for line in lines if line.partition(" ")[2] == BRANCH), "")
    return found if _COMMIT.fullmatch(found) else None


def _read(work_tree: Path, folder: str, name: str, limit: int) -> str:
    """Empty where there is no such file."""
    with suppress(FileNotFoundError), opened(work_tree, folder) as fd:
        return (read_plain(name, limit, follow=False, dir_fd=fd) or b"").decode("utf-8", "replace")
    return ""
