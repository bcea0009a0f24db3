"""For attacks on archives whose files lie in a code repository; other modules have a `room` of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archive_harness import ArchiveHarness, git, open_archive_harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ArchiveHarness]:
    (tmp_path / "store").mkdir()
    with open_archive_harness(tmp_path / "store") as opened:
        opened.in_workspace = True
        yield opened


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code repository with one commit."""
    folder = tmp_path / "code"
    (folder / "other").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "main.py").write_text("print()\n")
    (folder / "other" / "far.py").write_text("print()\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder
