from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.contacts.harness import ContactsHarness, open_contacts


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ContactsHarness]:
    async with open_contacts(tmp_path) as opened:
        yield opened
