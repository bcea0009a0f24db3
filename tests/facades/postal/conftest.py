"""A server with the door open, and nothing else said."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.facades.postal.postal_server import PostalServer, open_postal


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "settings(**names): with which the server is started")


@pytest.fixture
async def postal(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[PostalServer]:
    """What a test that shows rows asked and was answered is compared with its golden file at its end."""
    settings = request.node.get_closest_marker("settings")
    async with open_postal(tmp_path, **(settings.kwargs if settings else {})) as opened:
        yield opened
    if (golden := getattr(request.function, "transcript", None)) is not None:
        opened.transcript.is_golden(golden)


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port
