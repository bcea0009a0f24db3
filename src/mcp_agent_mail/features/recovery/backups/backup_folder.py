"""The backups in a folder: which are there, which of them are whole, and who may add one."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from secrets import token_hex

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.own_files import BACKUP_BUILDING
from mcp_agent_mail.features.recovery.backups.manifest import (
    BackupFault,
    Manifest,
    NewerBackup,
    UnreadableBackup,
    check_backup,
    is_backup,
    read_manifest,
)
from mcp_agent_mail.features.recovery.scratch import UnfitTarget

BUILDING = BACKUP_BUILDING
"""What the name begins with while a backup is made, or removed."""

_MOST = 10_000
_LOCK_FILE = ".lock"
_OWNER_ONLY = 0o700
_OTHERS = 0o077


class BackupBusy(Conflict):
    """Another backup into the same folder is under way."""


class BackupsOpenToOthers(Conflict):
    """Others may look into the folder of backups, or it is not this user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBackup:
    """A folder that says it is a backup; without a `manifest` it cannot be used, and `problem` says why."""

    path: Path
    manifest: Manifest | None
    problem: str | None = None


def list_backups(target: Path) -> list[ListedBackup]:
    """All in the folder `target`, newest first by their numbers, whatever the clock said; those without one are older,
    and those that cannot be read come last. At most 10,000. Raises UnfitTarget for what is there and no folder that can
    be read.
    """
    try:
        with os.scandir(target) as entries:
            names = sorted(entry.name for entry in islice(entries, _MOST) if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
    except OSError as failed:
        raise UnfitTarget(
            f"{target} cannot be looked through for backups: {failed.strerror}.",
            hint="Name a folder of backups: BACKUP_DIR, or --to.",
            data={"path": str(target)},
        ) from failed
    found = [_listed(target / name) for name in names if not name.startswith(BUILDING) and is_backup(target / name)]
    return sorted(found, key=_age, reverse=True)


def _age(one: ListedBackup) -> tuple[int, str, Path]:
    return (-1, "", one.path) if one.manifest is None else (one.manifest.number, one.manifest.created, one.path)


def next_number(target: Path) -> int:
    """What the next backup in the folder is called by: above all that are there."""
    return max((one.manifest.number for one in list_backups(target) if one.manifest is not None), default=0) + 1


def _listed(path: Path) -> ListedBackup:
    try:
        return ListedBackup(path=path, manifest=read_manifest(path))
    except (UnreadableBackup, NewerBackup) as wrong:
        return ListedBackup(path=path, manifest=None, problem=wrong.message)


def faults_of_backup(backup: ListedBackup) -> Iterator[BackupFault]:
    """Read every byte of it."""
    if backup.manifest is None:
        yield BackupFault(path="manifest.json", problem="unreadable", evidence=backup.problem or "")
        return
    yield from check_backup(backup.path, backup.manifest)


def require_own_folder(target: Path) -> None:
    """Raise BackupsOpenToOthers unless `target`, which is there, is this user's alone. One that is and that others may
    enter is closed to them when nothing but backups lies there.
    """
    found = target.stat()
    if found.st_uid == os.geteuid():
        if not found.st_mode & _OTHERS:
            return
        with os.scandir(target) as entries:
            is_ours = all(entry.name.startswith(".") or is_backup(target / entry.name) for entry in entries)
        if is_ours:
            target.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
            return
    raise BackupsOpenToOthers(
        f"Other users may look into {target}, and backups hold mail and the hashes of tokens.",
        hint=f"Run `chmod go-rwx {target}`, or name another folder: BACKUP_DIR, or --to.",
        data={"path": str(target)},
    )


@contextmanager
def alone(target: Path) -> Iterator[None]:
    """The folder made, this user's alone, and held by one backup at a time; what a killed one left is gone."""
    try:
        target.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError, PermissionError) as failed:
        raise UnfitTarget(
            f"{target} cannot be a folder of backups: {failed.strerror}.",
            hint="Name a folder where you may write: BACKUP_DIR, or --to.",
            data={"path": str(target)},
        ) from failed
    require_own_folder(target)
    lock = os.open(target / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            raise BackupBusy(
                f"A backup into {target} is being made right now.",
                hint="Wait until it is done; `am doctor backups` lists what is there.",
                data={"path": str(target)},
            ) from held
        for left in target.glob(f"{BUILDING}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        os.close(lock)


def remove_oldest(
    target: Path, keep: int, store_id: str, newest: Path, *, fault_hook: FaultHook = no_fault
) -> tuple[Path, ...]:
    """Only what is a backup of this very store by its own words; those that cannot be read are left to a person. With
    `keep` below 1 nothing is removed: there is no number of backups that means none.

    `keep` stay of those that were verified, and as many that were not: what may not be whole displaces none that is.
    """
    if keep < 1:
        return ()
    listed = [(one.path, one.manifest) for one in list_backups(target) if one.manifest is not None]
    removed: list[Path] = []
    for kind in (True, False):
        ours = [path for path, made in listed if made.store_id == store_id and made.verified is kind]
        # What was just made is one of those that stay.
        others = [path for path in ours if path != newest]
        removed += others[max(0, keep - (len(ours) - len(others))) :]
    for path in removed:
        # Whatever ends this in the middle, half a backup has no name of one.
        leaving = target / f"{BUILDING}{token_hex(8)}"
        path.rename(leaving)
        fault_hook(FailPoint.BACKUP_LEAVING)
        shutil.rmtree(leaving)
    if removed:
        sync_path(target)
    return tuple(removed)


def free_name(target: Path, name: str) -> Path:
    """A path in `target` that begins with `name` and where nothing lies."""
    number, path = 1, target / name
    while os.path.lexists(path):
        number += 1
        path = target / f"{name}-{number}"
    return path
