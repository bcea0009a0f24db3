"""Opens what is lent, for tests."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.workspace.lent_files import LentFile, LentRoots, open_lent
from mcp_agent_mail.workspace.lent_places import LentFolder, find_folder


def open_descriptors() -> set[str]:
    return {path.name for path in Path("/dev/fd").iterdir()}


def content(path: str, roots: LentRoots, *, may_be_anywhere: bool = False) -> bytes:
    with opened(path, roots, may_be_anywhere=may_be_anywhere) as lent:
        return os.read(lent.descriptor, 1_000)


def opened(path: str, roots: LentRoots, *, may_be_anywhere: bool = False) -> LentFile:
    found = open_lent(path, roots, may_be_anywhere=may_be_anywhere)
    assert isinstance(found, LentFile)
    return found


def folders(*paths: Path) -> tuple[LentFolder, ...]:
    return tuple(map(find_folder, paths))


def lent_below(workspace: Path) -> set[str]:
    """The files of a directory that whoever may use it is lent, each asked for by its path."""
    roots = LentRoots(workspaces=folders(workspace), archive=None, never=())
    files = [str(path.relative_to(workspace)) for path in workspace.rglob("*") if path.is_file()]
    return {name for name in files if _is_lent(name, roots)}


def _is_lent(name: str, roots: LentRoots) -> bool:
    try:
        opened(name, roots).close()
    except InvalidInput:
        return False
    return True
