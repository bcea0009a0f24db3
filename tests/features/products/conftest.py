"""The two shops: where names are taken at their word, and where every act is proven."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.identity.caller import AgentAuth
from tests.features.products.harness import ProductsHarness, open_products


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ProductsHarness]:
    async with open_products(tmp_path) as harness:
        yield harness


@pytest.fixture
async def strict_harness(tmp_path: Path) -> AsyncIterator[ProductsHarness]:
    async with open_products(tmp_path, auth=AgentAuth.STRICT) as harness:
        yield harness
