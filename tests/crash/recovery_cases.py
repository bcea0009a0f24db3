"""The commands of recovery, each with what may be there once it was killed, and once it was run again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.features.recovery.backups.backup_folder import faults_of_backup, list_backups
from mcp_agent_mail.features.recovery.saved_archives import check
from mcp_agent_mail.features.recovery.saved_file import UnfitSavedFile
from tests.crash.recovered_store import Known, Nursery, Pattern, Place

REFUSED, UNAVAILABLE = 1, 69
"""Of what was done before the kill already."""

_STORE = ("projects", "attachments", "mail.sqlite3", "mail.sqlite3-wal", "mail.sqlite3-shm")


def _nothing(_place: Place, _nursery: Nursery) -> None:
    """It is run in the pattern as it is."""


def _faultless(_place: Place, _pattern: Pattern) -> list[str]:
    return []


@dataclass(frozen=True, kw_only=True)
class Case:
    """`arguments` of `am`. `store`: the one that it makes or replaces; the other one stays as it is. What it knows then
    is one of `known`, and `at_last` once the command was run again; None: there is none. `own_faults`: of what else it
    makes. `points`: those of its own.
    """

    name: str
    arguments: Callable[[Place], list[str]]
    known: Callable[[Pattern], Iterable[Known | None]]
    at_last: Callable[[Pattern], Iterable[Known | None]]
    points: Iterable[FailPoint]
    prepare: Callable[[Place, Nursery], None] = _nothing
    store: Callable[[Place], Path] = field(default=lambda place: place.store)
    is_refused_once_done: bool = False
    own_faults: Callable[[Place, Pattern], list[str]] = _faultless
    own_faults_at_last: Callable[[Place, Pattern], list[str]] = _faultless


def _after(pattern: Pattern) -> Iterable[Known | None]:
    return [pattern.after]


def _before(pattern: Pattern) -> Iterable[Known | None]:
    return [pattern.before]


def _either(pattern: Pattern) -> Iterable[Known | None]:
    return [pattern.before, pattern.after]


def _nothing_or_after(pattern: Pattern) -> Iterable[Known | None]:
    return [None, pattern.after]


def _nothing_or_before(pattern: Pattern) -> Iterable[Known | None]:
    return [None, pattern.before]


def _backups_at_fault(place: Place, _pattern: Pattern) -> list[str]:
    """What has a name is whole."""
    return [
        f"{one.path.name}: {one.problem or [*islice(faults_of_backup(one), 3)]}"
        for one in list_backups(place.backups)
        if one.manifest is None or not one.manifest.verified or any(faults_of_backup(one))
    ]


def _one_backup(place: Place, _pattern: Pattern) -> list[str]:
    there = sorted(path.name for path in place.backups.iterdir() if path.name != ".lock")
    return [] if len(there) == 1 and not there[0].startswith(".") else [f"backups: {there}"]


def _new_file(place: Place) -> Path:
    return place.base / "new.tar"


def _file_at_fault(place: Place, _pattern: Pattern) -> list[str]:
    if not _new_file(place).exists():
        return []
    try:
        found = check(_new_file(place), progress=lambda _done, _total: None)
    except UnfitSavedFile as unfit:
        return [f"the saved file: {unfit.message}"]
    return [] if len(found.manifest.projects) == 2 else [f"saved: {found.manifest.projects}"]


def _there_is_a_file(place: Place, _pattern: Pattern) -> list[str]:
    return [] if _new_file(place).exists() else ["there is no saved file"]


def _unused_are_gone(place: Place, pattern: Pattern) -> list[str]:
    return [] if place.contents.size(pattern.unused) is None else ["what nobody carries is still there"]


def _restored(place: Place, nursery: Nursery) -> None:
    assert nursery.run(place, ["doctor", "restore", str(place.backup)]).code == 0, nursery.said


def _without_database(place: Place, _nursery: Nursery) -> None:
    for path in place.store.glob("mail.sqlite3*"):
        path.unlink()
    shutil.rmtree(place.store / "attachments")


def _without_store(place: Place, _nursery: Nursery) -> None:
    _without_database(place, _nursery)
    shutil.rmtree(place.store / "projects")


def _with_another(place: Place, nursery: Nursery) -> None:
    """Made by this very store."""
    assert nursery.run(place, ["doctor", "rebuild", "--into", str(place.made)]).code == 0, nursery.said


SWAP = (FailPoint.SWAP_BEGUN, FailPoint.SWAP_KEPT, FailPoint.SWAP_MOVED, FailPoint.SWAP_PLACED)
BACKUP = (FailPoint.BACKUP_DATABASE, FailPoint.BACKUP_FILE, FailPoint.BACKUP_WRITTEN)
CASES = (
    Case(
        name="backup",
        arguments=lambda _: ["doctor", "backup", "--keep", "1"],
        known=_after,
        at_last=_after,
        points=(*BACKUP, FailPoint.BACKUP_VERIFIED, FailPoint.BACKUP_NAMED, FailPoint.BACKUP_LEAVING),
        own_faults=_backups_at_fault,
        own_faults_at_last=_one_backup,
    ),
    Case(
        name="restore of a backup",
        arguments=lambda place: ["doctor", "restore", str(place.backup)],
        known=_either,
        at_last=_before,
        points=(FailPoint.RESTORE_BUILT, *SWAP),
    ),
    Case(
        name="restore of a store",
        prepare=_with_another,
        arguments=lambda place: ["doctor", "restore", str(place.made)],
        known=_after,
        at_last=_after,
        points=(*BACKUP, FailPoint.RESTORE_BUILT, *SWAP),
    ),
    Case(
        name="undo",
        prepare=_restored,
        arguments=lambda _: ["doctor", "restore", "--undo"],
        known=_either,
        at_last=_either,
        points=SWAP,
    ),
    Case(
        name="rebuild",
        arguments=lambda _: ["doctor", "rebuild"],
        known=_after,
        at_last=_after,
        points=(FailPoint.REBUILT, *SWAP),
    ),
    Case(
        name="rebuild without a database",
        prepare=_without_database,
        arguments=lambda _: ["doctor", "rebuild"],
        known=_nothing_or_after,
        at_last=_after,
        points=(FailPoint.REBUILT, FailPoint.SWAP_BEGUN, FailPoint.SWAP_MOVED, FailPoint.SWAP_PLACED),
    ),
    Case(
        name="rebuild into a folder",
        arguments=lambda place: ["doctor", "rebuild", "--into", str(place.made)],
        store=lambda place: place.made,
        known=_nothing_or_after,
        at_last=_after,
        points=(),
        is_refused_once_done=True,
    ),
    Case(
        name="save",
        arguments=lambda place: ["archive", "save", str(_new_file(place))],
        known=_after,
        at_last=_after,
        points=(FailPoint.SAVE, FailPoint.SAVE_STAGED, FailPoint.SAVE_NAMED),
        is_refused_once_done=True,
        own_faults=_file_at_fault,
        own_faults_at_last=_there_is_a_file,
    ),
    Case(
        name="restore of a saved file",
        prepare=_without_store,
        arguments=lambda place: ["archive", "restore", str(place.saved)],
        known=_nothing_or_before,
        at_last=_before,
        points=(FailPoint.SWAP_BEGUN, FailPoint.SWAP_MOVED, FailPoint.SWAP_PLACED),
        is_refused_once_done=True,
    ),
    Case(
        name="restore of a saved file into a folder",
        arguments=lambda place: ["archive", "restore", str(place.saved), "--into", str(place.made)],
        store=lambda place: place.made,
        known=_nothing_or_before,
        at_last=_before,
        points=(),
        is_refused_once_done=True,
    ),
    Case(
        name="removal of unused contents",
        arguments=lambda _: ["archive", "gc"],
        known=_after,
        at_last=_after,
        points=(FailPoint.UNUSED_REMOVED,),
        own_faults_at_last=_unused_are_gone,
    ),
)
