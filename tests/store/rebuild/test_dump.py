from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.store.rebuild.dump import dump
from tests.archive_harness import open_archive_harness


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with open_archive_harness(tmp_path_factory.mktemp("store")) as harness:
        app = harness.add_project("/code/app")
        blue, red = harness.add_agent(app, "BlueLake"), harness.add_agent(app, "RedStone")
        message = harness.send(blue, [red], bcc=[blue])
        harness.read(app, red, message)
        harness.archive()
        return harness.database


def changed(database: Path, tmp_path: Path, sql: str) -> list[str]:
    copy = tmp_path / "copy"
    copy.write_bytes(database.read_bytes())
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute(sql)
    return list(dump(copy))


def test_each_line_names_its_table(database: Path) -> None:
    tables = {json.loads(line)[0] for line in dump(database)}

    assert {"meta", "projects", "agents", "messages", "recipients", "commits", "outbox.receipts"} <= tables


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE recipients SET read_ts = NULL WHERE kind = 'to'",
        "UPDATE recipients SET position = 9 WHERE position = 0",
        "UPDATE agents SET task_description = 'another' WHERE name = 'BlueLake'",
        "DELETE FROM message_projects",
        "UPDATE commits SET hexsha = 'f'",
        "UPDATE outbox SET agent_id = NULL WHERE kind IN ('mail', 'profile')",
        "UPDATE outbox SET is_blind = 1 WHERE kind = 'receipt'",
    ],
)
def test_what_a_tool_would_show_otherwise_is_seen(database: Path, tmp_path: Path, sql: str) -> None:
    assert changed(database, tmp_path, sql) != list(dump(database))


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE agents SET status = 'busy', token_hash = NULL",
        "UPDATE recipients SET position = 7 WHERE position = 1",
        "UPDATE counters SET value = value + 100000",
        "UPDATE outbox SET created_ts = 0",
    ],
)
def test_what_is_not_rebuilt_or_shown_is_left_out(database: Path, tmp_path: Path, sql: str) -> None:
    assert changed(database, tmp_path, sql) == list(dump(database))
