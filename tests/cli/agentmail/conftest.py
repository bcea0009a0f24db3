"""A server with the door open, and a session of tmux beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.agentmail.tmux_session import AgentMailHome, TmuxSession, tmux_session
from tests.served import Served


@pytest.fixture
def home(tmp_path: Path) -> AgentMailHome:
    return AgentMailHome(tmp_path)


@pytest.fixture
def server(home: AgentMailHome) -> Iterator[Served]:
    with Served(home.store, AGENTMAIL_ENABLED="true") as server:
        yield server


@pytest.fixture
def session(home: AgentMailHome, server: Served) -> Iterator[TmuxSession]:
    assert server.port
    with tmux_session(home) as session:
        yield session
