"""A server with the door open, and nothing else said."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.facades.postal.postal_server import PostalServer, open_postal


@pytest.fixture
async def postal(tmp_path: Path) -> AsyncIterator[PostalServer]:
    async with open_postal(tmp_path) as opened:
        yield opened


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port
