"""Empties a store: database, archives and attachments leave in one swap, which only ever goes on (ADR 0145).

So whenever the process ends, the store is whole, or whoever takes its lock next has an empty place. What other commands
keep beside a store, and what lies where this program does not remove, stays and is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.git_folder import work_tree_of
from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.failpoints import FaultHook, no_fault
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER
from mcp_agent_mail.features.recovery.backups.place import FOLDERS, StorePlace
from mcp_agent_mail.features.recovery.backups.undo import new_undo
from mcp_agent_mail.store.engine.sqlite.database_files import KEPT_FOLDER, UNDO_FOLDER, database_files
from mcp_agent_mail.store.engine.sqlite.swap import NotedReset, OnReset, nothing_beside, swap
from mcp_agent_mail.store.engine.sqlite.swap_places import Move, SwapPlaces, SwapRefused

LEFT_MOST = 100
"""So many of the places that stay are named."""


def is_empty(place: StorePlace) -> bool:
    """Is there nothing of a store, not even a part?"""
    return not any(os.path.lexists(path) for path in _parts(place))


def empty(
    place: StorePlace,
    clock: Clock,
    *,
    saved: Path | None = None,
    on_reset: OnReset = nothing_beside,
    fault_hook: FaultHook = no_fault,
) -> None:
    """Remove the store for good; the caller holds its lock, and has saved what is to be kept, in the file `saved`,
    which whoever finishes an interrupted reset names. `on_reset` as `finish_swap` takes it. Raises OSError and
    SwapRefused, and nothing has changed; SwapUnfinished, and the next holder of the lock goes on.
    """
    kept = new_undo(place, clock)
    targets = [*database_files(kept.database), *(kept.folder / name for name in FOLDERS)]
    moves = [
        Move(place=part, built=None, kept=target)
        for part, target in zip(_parts(place), targets, strict=True)
        if os.path.lexists(part)
    ]
    places = SwapPlaces(storage_root=place.storage_root, database_path=place.database_path)
    leftovers = [*database_files(kept.database), kept.folder]
    try:
        noted = NotedReset(saved=saved)
        swap(places, moves, leftovers=leftovers, reset=noted, on_reset=on_reset, fault_hook=fault_hook)
    except (OSError, SwapRefused):
        # Nothing has moved, so nothing lies there.
        with suppress(OSError):
            kept.folder.rmdir()
            kept.folder.parent.rmdir()
        raise


def what_stays(place: StorePlace) -> list[Path]:
    """What of the mail is somewhere else, and is not removed with the store: stores that a restore or a rebuild has
    replaced, copies from before a migration, archives' files in their projects, and what a link leads to.
    """
    return sorted(set(_elsewhere(place)))[:LEFT_MOST]


def _elsewhere(place: StorePlace) -> Iterator[Path]:
    for folder in (place.storage_root / UNDO_FOLDER, *(one / KEPT_FOLDER for one in _homes(place))):
        if folder.is_dir():
            yield from folder.iterdir()
    name = place.database_path.name
    yield from place.database_path.parent.glob(f"{name}.before-[0-9][0-9][0-9][0-9]")
    yield from place.database_path.parent.glob(f"{name}.{UNDO_FOLDER}-*")
    yield from (Path(os.path.realpath(part)) for part in _parts(place) if part.is_symlink())
    archives = place.storage_root / PROJECTS_FOLDER
    for archive in archives.iterdir() if archives.is_dir() else ():
        if archive.is_dir() and (work_tree := work_tree_of(archive)) != archive:
            yield work_tree


def _homes(place: StorePlace) -> set[Path]:
    return {place.storage_root, place.database_path.parent}


def _parts(place: StorePlace) -> list[Path]:
    return [*database_files(place.database_path), *(place.storage_root / name for name in FOLDERS)]
