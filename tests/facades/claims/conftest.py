"""A server with the profile, and a client connected to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.facades.claims.claims_client import Caller, ClaimsServer, open_claims


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ClaimsServer]:
    async with open_claims(tmp_path) as opened:
        yield opened


@pytest.fixture
async def claims(server: ClaimsServer) -> AsyncIterator[Caller]:
    async with server.connected() as connected:
        yield connected


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "app"
    made.mkdir()
    return made
