"""Real repositories of code, for tests of what the server sees in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

EPOCH_S = 1_700_000_000
"""When the files and commits of these repositories were made, unless a test says otherwise."""


def git(repository: Path, *arguments: str, at_s: int = EPOCH_S) -> str:
    dates = {"GIT_AUTHOR_DATE": f"{at_s} +0000", "GIT_COMMITTER_DATE": f"{at_s} +0000"}
    who = ("-c", "user.name=Someone", "-c", "user.email=someone@example.com")
    done = subprocess.run(
        ["git", "-C", str(repository), *who, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **dates, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


def begin(repository: Path) -> Path:
    repository.mkdir(parents=True, exist_ok=True)
    git(repository, "init", "--quiet", "--initial-branch=main")
    return repository


def write(repository: Path, path: str, *, at_s: int = EPOCH_S, content: str = "x\n") -> Path:
    file = repository / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    os.utime(file, (at_s, at_s))
    return file


def commit(repository: Path, *paths: str, at_s: int = EPOCH_S) -> None:
    git(repository, "add", "-A", "--", *(paths or (".",)))
    git(repository, "commit", "--quiet", "-m", "work", at_s=at_s)
