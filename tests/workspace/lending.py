"""Opens what is lent, for tests."""

from __future__ import annotations

import os
from pathlib import Path

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
