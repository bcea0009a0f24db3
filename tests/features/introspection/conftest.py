from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.tools import ToolSpec
from tests.features.introspection.harness import Watchtower, open_watchtower
from tests.server.reference_pages import declared


@pytest.fixture(scope="session")
def all_specs() -> list[ToolSpec]:
    """Of every tool, those of the operator too."""
    return list(declared()[0])


@pytest.fixture
async def tower(tmp_path: Path, all_specs: list[ToolSpec]) -> AsyncIterator[Watchtower]:
    async with open_watchtower(tmp_path, all_specs) as opened:
        yield opened
