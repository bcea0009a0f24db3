from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.claude_mailbox.mailbox_program import MailboxProgram
from tests.facades.claude_mailbox.mailbox_server import MailboxServer, open_mailboxes


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailboxServer]:
    """One for a module: each test has names of its own."""
    with open_mailboxes(tmp_path_factory.mktemp("mailboxes") / "store") as opened:
        yield opened


@pytest.fixture
def program(server: MailboxServer, tmp_path: Path) -> MailboxProgram:
    return MailboxProgram(tmp_path, server.url)


@pytest.fixture
def alone(tmp_path: Path) -> MailboxProgram:
    """Where no server answers."""
    return MailboxProgram(tmp_path)
