from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.summaries.harness import SummariesHarness, open_summaries


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[SummariesHarness]:
    async with open_summaries(tmp_path) as opened:
        yield opened
