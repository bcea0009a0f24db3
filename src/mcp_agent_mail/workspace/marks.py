"""The files by which a repository says which project it is: read as strangers' data, no links followed, bounded."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from mcp_agent_mail.core.git.foreign_repository import ForeignRepository, UnfitRepository
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.domain.project_identity import (
    DISCOVERY_FILE,
    MARKER_FILE,
    PRIVATE_MARKER,
    Marks,
    UnfitMark,
    read_discovery,
    read_marker,
)
from mcp_agent_mail.workspace.repository import find_work_tree

MAX_BYTES = 16_384

Mark = TypeVar("Mark")


def read_marks(path: Path) -> Marks:
    """The nearest mark of each kind, from `path` up to the root of its repository; of `path` alone outside of one.

    Runs no Git and costs a few looks at the disk. A file that cannot be used is told, and counts as absent; so does a
    repository that cannot be read.
    """
    notices: list[str] = []
    found = _found(path, notices)
    folders = _folders(path, found)
    committed = _nearest(folders, MARKER_FILE, read_marker, notices)
    discovery = _nearest(folders, DISCOVERY_FILE, read_discovery, notices)
    private = None if found is None else _mark(Path(found.common_dir, PRIVATE_MARKER), read_marker, notices)
    return Marks(committed=committed, discovery=discovery, private=private, notices=tuple(notices))


def _found(path: Path, notices: list[str]) -> ForeignRepository | None:
    try:
        return find_work_tree(path)
    except UnfitRepository as unfit:
        notices.append(f"Only {path} itself is looked at: {unfit.message}")
        return None


def _folders(path: Path, found: ForeignRepository | None) -> list[Path]:
    """`path` and what is above it up to the top of its work tree; `path` alone when there is none."""
    if found is None or found.top is None:
        return [path]
    here, top = path.resolve(), Path(found.top)
    above = [folder for folder in here.parents if folder.is_relative_to(top)]
    return [path, *above]


def _nearest(folders: Sequence[Path], name: str, read: Callable[[str], Mark], notices: list[str]) -> Mark | None:
    return next((mark for folder in folders if (mark := _mark(folder / name, read, notices))), None)


def _mark(path: Path, read: Callable[[str], Mark], notices: list[str]) -> Mark | None:
    text = _text(path)
    if text is None:
        if os.path.lexists(path):
            notices.append(f"{path} is not used: it is no regular file of at most {MAX_BYTES} bytes of text.")
        return None
    try:
        return read(text)
    except UnfitMark as unfit:
        notices.append(f"{path} is not used: {unfit.message}")
        return None


def _text(path: Path) -> str | None:
    """None for what is missing, no regular file (nor behind a link), too large, or no UTF-8."""
    try:
        content = read_plain(str(path), MAX_BYTES, follow=False)
        return None if content is None else content.decode()
    except (UnfitFile, UnicodeDecodeError):
        return None
