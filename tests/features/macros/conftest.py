from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.macros.harness import MacrosHarness, open_macros


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[MacrosHarness]:
    async with open_macros(tmp_path) as opened:
        yield opened


@pytest.fixture
async def strict_team(tmp_path: Path) -> AsyncIterator[MacrosHarness]:
    """Every act needs the agent's token."""
    async with open_macros(tmp_path, AGENT_AUTH="strict") as opened:
        yield opened
