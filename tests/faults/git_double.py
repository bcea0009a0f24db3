"""A `git` first on PATH that misbehaves when told to, and is the real one otherwise."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

_SCRIPT = """\
#!/bin/sh
mode=$(cat {folder}/mode 2>/dev/null)
case "$*" in *fast-import*) ;; *) mode= ;; esac
case "$mode" in
hang) echo $$ >> {folder}/hung; sleep 600 ;;
die) kill -9 $$ ;;
die-late) {git} "$@"; kill -9 $$ ;;
garbage) cat >/dev/null & echo "%PDF-1.4 no commit at all"; exit 0 ;;
lie) echo 0123456789012345678901234567890123456789; echo "progress packed"; cat >/dev/null; exit 0 ;;
*) exec {git} "$@" ;;
esac
"""


@dataclass(frozen=True, slots=True)
class GitDouble:
    folder: Path

    def behave(self, mode: str) -> None:
        """`hang`, `die`, `die-late`, `garbage`, `lie`; nothing: like Git. For the command that makes commits."""
        (self.folder / "mode.new").write_text(mode)
        (self.folder / "mode.new").replace(self.folder / "mode")

    def hung(self) -> list[int]:
        """Process ids of those that hang or hung."""
        try:
            return [int(line) for line in (self.folder / "hung").read_text().split()]
        except FileNotFoundError:
            return []


def install_git_double(folder: Path, monkeypatch: pytest.MonkeyPatch) -> GitDouble:
    """For every process started from now on, by way of PATH."""
    git = shutil.which("git")
    assert git is not None
    folder.mkdir()
    script = folder / "git"
    script.write_text(_SCRIPT.format(folder=folder, git=git))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return GitDouble(folder)
