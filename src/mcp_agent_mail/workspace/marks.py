"""The files by which a repository says which project it is: read as strangers' data, no links followed, bounded."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from mcp_agent_mail.domain.project_identity import (
    DISCOVERY_FILE,
    MARKER_FILE,
    PRIVATE_MARKER,
    Marks,
    UnfitMark,
    read_discovery,
    read_marker,
)

MAX_BYTES = 16_384
MAX_LEVELS = 128

Mark = TypeVar("Mark")


def read_marks(path: Path) -> Marks:
    """The nearest of each kind, from `path` up to the root of its repository; of `path` alone outside of one.

    Runs no Git and costs a few looks at the disk. A file that cannot be used is told, and counts as absent.
    """
    notices: list[str] = []
    folders = _folders(path)
    committed = _nearest(folders, MARKER_FILE, read_marker, notices)
    discovery = _nearest(folders, DISCOVERY_FILE, read_discovery, notices)
    common = _common_dir(folders[-1])
    private = None if common is None else _mark(common / PRIVATE_MARKER, read_marker, notices)
    return Marks(committed=committed, discovery=discovery, private=private, notices=tuple(notices))


def _folders(path: Path) -> list[Path]:
    """`path` and what is above it up to the folder with `.git`; `path` alone when there is none."""
    folders: list[Path] = []
    for folder in islice((path, *path.parents), MAX_LEVELS):
        folders.append(folder)
        if os.path.lexists(folder / ".git"):
            return folders
    return [path]


def _nearest(folders: Sequence[Path], name: str, read: Callable[[str], Mark], notices: list[str]) -> Mark | None:
    return next((mark for folder in folders if (mark := _mark(folder / name, read, notices))), None)


def _mark(path: Path, read: Callable[[str], Mark], notices: list[str]) -> Mark | None:
    text = read_text(path)
    if text is None:
        if os.path.lexists(path):
            notices.append(f"{path} is not used: it is no regular file of at most {MAX_BYTES} bytes of text.")
        return None
    try:
        return read(text)
    except UnfitMark as unfit:
        notices.append(f"{path} is not used: {unfit.message}")
        return None


def read_text(path: Path) -> str | None:
    """None for what is missing, no regular file (nor behind a link), too large, or no UTF-8."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = os.read(descriptor, MAX_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _common_dir(root: Path) -> Path | None:
    """The Git common directory of a folder with `.git`, read from the files that name it."""
    git = root / ".git"
    if git.is_dir():
        return git
    text = read_text(git)
    if text is None or not text.startswith("gitdir:"):
        return None
    private = root / text.removeprefix("gitdir:").strip()
    shared = read_text(private / "commondir")
    return private if shared is None else private / shared.strip()
