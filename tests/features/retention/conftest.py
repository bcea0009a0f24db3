from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.retention.harness import Attic
from tests.seeded_store import open_seeded_store


@pytest.fixture
async def attic(tmp_path: Path) -> AsyncIterator[Attic]:
    async with open_seeded_store(tmp_path) as seeded:
        yield Attic(seeded, tmp_path / "mail.sqlite3", [])
