from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.backups.place import StorePlace
from tests.archive_harness import open_archive_harness
from tests.features.recovery.backups.harness import Stored, fill


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """Made once, for copies: its store is closed, and a backup of it lies beside it."""
    root = tmp_path_factory.mktemp("recovery") / "store"
    root.mkdir(mode=0o700)
    with open_archive_harness(root) as harness:
        stored = fill(harness)
    stored.back_up(root.parent / "backups")
    return stored


@pytest.fixture
def stored(filled: Stored, tmp_path: Path) -> Iterator[Stored]:
    """A copy of the store, open, at `tmp_path/store`."""
    shutil.copytree(filled.harness.root, tmp_path / "store")
    with open_archive_harness(tmp_path / "store") as harness:
        yield replace(filled, harness=harness)


@pytest.fixture
def backup(filled: Stored, tmp_path: Path) -> Path:
    """A copy of a backup of it, made before anything else happened."""
    (made,) = (path for path in (filled.harness.root.parent / "backups").iterdir() if path.is_dir())
    shutil.copytree(made, tmp_path / "backup")
    return tmp_path / "backup"


@pytest.fixture
def went_on(stored: Stored) -> StorePlace:
    """The place of a store that has gone on since its backup, and is closed."""
    stored.send("after the backup")
    stored.harness.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return stored.place
