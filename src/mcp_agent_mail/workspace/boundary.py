"""Looks at paths below a project's directory that never leave it, whatever symbolic links lie on the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from mcp_agent_mail.core.plain_files import UnfitFile, real_path


class ProjectBoundary:
    """One project's directory. Remembers the folders it has looked at: for one search, not for longer."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._real_root = os.path.realpath(root)
        self._is_inside: dict[str, bool] = {}

    def look(self, path: str) -> os.stat_result | None:
        """What lies at a relative path, symbolic links themselves not followed; None for nothing, or for outside."""
        folder, _, name = path.rpartition("/")
        if name in ("", ".", "..") or not self._holds(folder):
            return None
        try:
            return os.lstat(self._root / path)
        except (OSError, ValueError):
            return None

    def _holds(self, folder: str) -> bool:
        known = self._is_inside.get(folder)
        if known is None:
            known = self._is_inside[folder] = self._is_below(folder)
        return known

    def _is_below(self, folder: str) -> bool:
        try:
            real = real_path(str(self._root / folder))
        except UnfitFile:
            return False
        return real == self._real_root or real.startswith(self._real_root + os.sep)


def is_folder(root: Path, path: str) -> bool:
    """Is there a folder (no symbolic link to one) at this path relative to `root`?"""
    if "\0" in path or path.startswith("/") or ".." in path.split("/"):
        return False
    found = ProjectBoundary(root).look(path.rstrip("/"))
    return found is not None and stat.S_ISDIR(found.st_mode)
