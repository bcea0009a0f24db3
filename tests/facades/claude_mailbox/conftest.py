from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.facades.claude_mailbox.mailbox_server import MailboxServer, open_mailboxes


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailboxServer]:
    """One for a module: each test has names of its own."""
    with open_mailboxes(tmp_path_factory.mktemp("mailboxes") / "store") as opened:
        yield opened
