from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.cli.offline.unused_contents import remove_unused_offline
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.store.engine.sqlite.migrate import NewerStore
from tests.cli.shell import Shell
from tests.stored_contents import content_path, keep_content


@pytest.fixture
def settings(at_stopped: Shell) -> Settings:
    return at_stopped.context().settings


def unused(settings: Settings) -> Path:
    content = keep_content(settings.storage_root, b"nobody carries it")
    path = content_path(settings.storage_root, content)
    os.utime(path, (0, 0))
    return path


def test_what_no_mail_carries_is_counted_then_removed(settings: Settings) -> None:
    path = unused(settings)

    assert remove_unused_offline(settings, dry_run=True) == {"contents": 1, "bytes": 17, "dry_run": True}
    assert path.exists()
    assert remove_unused_offline(settings, dry_run=False) == {"contents": 1, "bytes": 17, "dry_run": False}
    assert not path.exists()


def test_what_mail_carries_stays(settings: Settings) -> None:
    path = unused(settings)
    with closing(sqlite3.connect(settings.database_path)) as connection, connection:
        connection.execute("INSERT INTO content_messages SELECT ?, min(id) FROM messages", (path.name,))

    assert remove_unused_offline(settings, dry_run=False)["contents"] == 0
    assert path.exists()


def test_of_a_newer_store_it_cannot_tell_and_removes_nothing(settings: Settings) -> None:
    path = unused(settings)
    with closing(sqlite3.connect(settings.database_path)) as connection:
        connection.execute("PRAGMA user_version = 9999")

    with pytest.raises(NewerStore):
        remove_unused_offline(settings, dry_run=False)

    assert path.exists()
