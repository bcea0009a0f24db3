from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.messaging.office import Office, open_office


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as opened:
        yield opened
