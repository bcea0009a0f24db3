from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.messaging.harness import MessagingHarness, open_messaging


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[MessagingHarness]:
    async with open_messaging(tmp_path) as opened:
        yield opened
