"""Asynchronous tests run on asyncio, through anyio's plugin: a coroutine is a test like any other."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
