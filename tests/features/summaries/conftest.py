from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.summaries.summary_room import SummaryRoom, open_summary_room


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[SummaryRoom]:
    async with open_summary_room(tmp_path) as opened:
        yield opened
