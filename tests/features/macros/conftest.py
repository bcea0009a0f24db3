from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.macros.team_room import TeamRoom, open_team_room


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[TeamRoom]:
    async with open_team_room(tmp_path) as opened:
        yield opened


@pytest.fixture
async def strict_team(tmp_path: Path) -> AsyncIterator[TeamRoom]:
    """Every act needs the agent's token."""
    async with open_team_room(tmp_path, AGENT_AUTH="strict") as opened:
        yield opened
