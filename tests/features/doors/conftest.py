from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.doors.harness import DoorsHarness, open_doors


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[DoorsHarness]:
    async with open_doors(tmp_path) as opened:
        yield opened
