from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.delivery.harness import DeliveryHarness, open_delivery


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[DeliveryHarness]:
    async with open_delivery(tmp_path) as opened:
        yield opened
