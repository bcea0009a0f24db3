from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.store.rebuild.dump import dump
from tests.cli.conftest import Post
from tests.cli.shell import Shell


@pytest.fixture
def before(stopped_post: Post) -> list[str]:
    return list(dump(stopped_post.server.database))


@pytest.mark.parametrize("state", ["whole", "missing", "garbage", "damaged", "a trigger more", "an index less"])
def test_whatever_the_database_is_archives_give_a_new_one(stopped_post: Post, before: list[str], state: str) -> None:
    database = stopped_post.server.database
    spoil(database, state)
    spoiled = database.read_bytes() if database.exists() else None

    done = stopped_post.server.am("doctor", "rebuild", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    made = json.loads(done.stdout)
    assert list(dump(database)) == before
    assert (made["findings"], made["queued"], made["stand_ins"]) == ([], 0, [])
    assert (made["unread"] is None) is (state in ("whole", "missing"))
    if spoiled is None:
        assert made["kept"] is None
    elif state != "whole":
        assert (Path(made["kept"]) / database.name).read_bytes() == spoiled


def spoil(database: Path, state: str) -> None:
    if state == "missing":
        for path in database.parent.glob(f"{database.name}*"):
            path.unlink()
    if state == "garbage":
        database.write_bytes(b"no database" * 100)
    if state == "damaged":
        content = bytearray(database.read_bytes())
        content[2_048 * 3 : 2_048 * 6] = bytes(2_048 * 3)
        database.write_bytes(content)

    if state == "a trigger more":
        run_sql(database, "CREATE TRIGGER heard AFTER INSERT ON messages BEGIN SELECT 1; END")
    if state == "an index less":
        run_sql(database, "DROP INDEX outbox_oldest")


def run_sql(database: Path, statement: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize("state", ["a trigger more", "an index less"])
def test_the_way_back_from_a_changed_schema_that_every_command_names_is_one(
    at_stopped: Shell, stopped_post: Post, state: str
) -> None:
    spoil(stopped_post.server.database, state)

    said = {command: at_stopped.am("doctor", command) for command in ("check", "verify", "repair", "backup")}
    rebuilt = at_stopped.am("doctor", "rebuild")

    for command, ended in said.items():
        words = ended.out + ended.err
        assert ended.code == 1, (command, words)
        assert "am doctor rebuild" in words, (command, words)
        assert "what Git had not got yet" in words, (command, words)
        assert "repair` backs up" not in words, (command, words)
    assert "DROP TRIGGER" not in said["backup"].err or state == "a trigger more"
    assert rebuilt.code == 0, rebuilt.err
    assert "not brought back\tIts schema was not the one" in rebuilt.out
    assert at_stopped.am("doctor", "verify").code == 0


def test_beside_a_server_it_is_refused_with_its_address(post: Post) -> None:
    done = post.server.am("doctor", "rebuild")

    assert done.returncode == 1
    assert "in use by process" in done.stderr


def test_a_store_is_made_elsewhere_beside_a_server(post: Post, tmp_path: Path) -> None:
    post.server.await_drained()
    before = list(dump(post.server.database))

    done = post.server.am("doctor", "rebuild", "--into", str(tmp_path / "other"), "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    # Pages of threads are written in rounds: one may have come meanwhile.
    made, after = list(dump(tmp_path / "other" / "mail.sqlite3")), list(dump(post.server.database))
    assert made in (before, after), [pair for pair in zip(made, after, strict=False) if pair[0] != pair[1]][:4]


def test_a_lost_archive_is_refused_by_name(stopped_post: Post) -> None:
    archive = stopped_post.archive()
    shutil.rmtree(archive)

    done = stopped_post.server.am("doctor", "rebuild")

    assert done.returncode == 1
    assert archive.name in done.stderr
