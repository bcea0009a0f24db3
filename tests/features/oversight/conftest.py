from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.features.oversight.service import OversightService
from tests.seeded_store import SeededStore, open_seeded_store

LATE_AFTER_S = 600


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def service(seeded: SeededStore) -> OversightService:
    return OversightService(seeded.store, late_after_s=LATE_AFTER_S)
