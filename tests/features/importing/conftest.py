from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.rebuild.world import World, open_world
from tests.seeded_store import SetClock


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    root = tmp_path / "store"
    async with open_world(root, root / "mail.sqlite3", SetClock()) as opened:
        yield opened
