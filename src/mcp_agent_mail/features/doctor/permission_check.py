"""Whether others may read the store, and whether this user may write all of it. Reads only."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER
from mcp_agent_mail.features.doctor.verify import Finding
from mcp_agent_mail.store.engine.sqlite.database_files import database_files
from mcp_agent_mail.store.engine.sqlite.faults import StoreUnwritable, read_only_mount

_PRIVATE = stat.S_IRWXG | stat.S_IRWXO
_STORE_FILES = ("operator.token", "server.json", "server.lock")


def find_permissions(storage_root: Path, database_path: Path) -> list[Finding]:
    """What is open to others, once where that is the whole folder; what is mounted read-only, once for each mount; and
    what else of the store cannot be written, part by part.
    """
    files = [*(storage_root / name for name in _STORE_FILES), *database_files(database_path)]
    archives = list(_folders_of_archives(storage_root / PROJECTS_FOLDER))
    findings = [*_open_to_others(storage_root)]
    for path in files:
        if not findings or path.parent != storage_root:
            findings += _open_to_others(path)
    findings += _mounted_read_only([storage_root, database_path.parent, *files, *archives])
    findings += _not_ours(files)
    findings += _not_writable(archives)
    return findings


def _finding(problem: str, evidence: str, next_step: str, path: Path | None) -> Finding:
    return Finding(
        check="permissions",
        problem=problem,
        project=None,
        path=None if path is None else str(path),
        evidence=evidence,
        next_step=next_step,
    )


def _folders_of_archives(folder: Path) -> Iterator[Path]:
    """Those that whoever commits writes in."""
    if not folder.is_dir():
        return
    for path in (folder, *sorted(folder.iterdir())):
        for part in (path, path / ".git", path / ".git" / "objects"):
            if part.is_dir():
                yield part


def _open_to_others(path: Path) -> Iterator[Finding]:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return
    if facts.st_mode & _PRIVATE:
        yield _finding(
            "open to others",
            f"{path} has mode {stat.S_IMODE(facts.st_mode):o}: others on this machine may read mail",
            f"chmod go-rwx {path}",
            path,
        )


def _mounted_read_only(paths: Iterable[Path]) -> Iterator[Finding]:
    mounts = (read_only_mount(path) for path in paths)
    for mount in dict.fromkeys(mount for mount in mounts if mount is not None):
        told = StoreUnwritable(mount)
        yield _finding("read-only", told.message, told.hint, mount)


def _not_ours(files: Iterable[Path]) -> Iterator[Finding]:
    for path in files:
        if path.exists() and read_only_mount(path) is None and not os.access(path, os.R_OK | os.W_OK):
            yield _finding("not ours", f"{path} cannot be written by this user", f"ls -l {path}", None)


def _not_writable(folders: Iterable[Path]) -> Iterator[Finding]:
    for folder in folders:
        if read_only_mount(folder) is None and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            yield _finding("not writable", f"{folder} cannot be written by this user", f"chmod u+rwx {folder}", folder)
