"""A program in the place of Git, for all that this process runs."""

from __future__ import annotations

from pathlib import Path

import pytest


def put_git(folder: Path, script: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """`script` is what a shell runs for each `git`; None where there is none to run."""
    folder.mkdir(exist_ok=True)
    if script is not None:
        git = folder / "git"
        git.write_text(f"#!/bin/sh\n{script}\n")
        git.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder) if script is None else f"{folder}:/usr/bin:/bin")
