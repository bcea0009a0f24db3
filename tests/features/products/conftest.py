"""The two shops: where names are taken at their word, and where every act is proven."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.identity.caller import AgentAuth
from tests.features.products.shop import Shop, open_shop


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with open_shop(tmp_path) as shop:
        yield shop


@pytest.fixture
async def strict_shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with open_shop(tmp_path, auth=AgentAuth.STRICT) as shop:
        yield shop
