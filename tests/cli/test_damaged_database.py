"""What commands say over a database whose header is whole and whose pages are not: a fact and a next step."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Post
from tests.cli.shell import Shell

PAGE = 2_048
READING = (
    "mail",
    "mail inbox BlueLake",
    "mail held",
    "mail read 1",
    "mail thread parser",
    "mail search lexer",
    "agents list",
    "agents show BlueLake",
    "projects list",
    "projects show PROJECT",
    "projects codes PROJECT",
    "reservations list",
    "reservations active",
    "reservations soon",
    "contacts list",
    "contacts requests",
    "archive log",
    "archive path",
    "archive stats",
    "archive renew PROJECT",
    "history message 1",
    "history agent BlueLake",
    "history file src/a.py",
    "history inbox BlueLake --at 2026-11-21",
    "guard log",
    "token reissue BlueLake",
    "doctor verify",
    "doctor backup --to BACKUPS",
)
WAYS = ("am doctor restore BACKUP", "am doctor rebuild")


def overwrite_all_but_the_first(content: bytearray) -> None:
    content[PAGE:] = b"\xa5" * len(content[PAGE:])


def overwrite_the_schema(content: bytearray) -> None:
    """Of the first page all but its header."""
    content[100:PAGE] = b"\xa5" * (PAGE - 100)


Damage = Callable[[bytearray], None]


def damage(database: Path, how: Damage) -> None:
    content = bytearray(database.read_bytes())
    how(content)
    database.write_bytes(content)


@pytest.mark.parametrize("how", [overwrite_all_but_the_first, overwrite_the_schema])
def test_every_command_that_reads_names_a_next_step(
    at_stopped: Shell, stopped_post: Post, tmp_path: Path, how: Damage
) -> None:
    damage(stopped_post.server.database, how)

    for command in READING:
        words = command.replace("PROJECT", stopped_post.project).replace("BACKUPS", str(tmp_path / "backups"))
        done = at_stopped.am(*words.split())
        said = done.out + done.err

        assert done.code in (1, 69), (command, said)
        assert "damaged" in said, (command, said)
        assert all(way in said for way in WAYS), (command, said)
        assert "Free some space" not in said, (command, said)


@pytest.mark.parametrize("how", [overwrite_all_but_the_first, overwrite_the_schema])
def test_check_verify_and_repair_find_it_and_name_the_way_back(
    at_stopped: Shell, stopped_post: Post, how: Damage
) -> None:
    damage(stopped_post.server.database, how)

    checked = at_stopped.am("doctor", "check", "--json")
    repaired = at_stopped.am("doctor", "repair", "--json")

    assert (checked.code, repaired.code) == (1, 1)
    steps = {one["next_step"] for one in checked.json()["findings"] if one["check"] == "database"}
    assert len(steps) == 1, steps
    assert all(way in next(iter(steps)) for way in WAYS)
    assert all(one["next_step"] for one in repaired.json()["left"])


def test_status_shows_it_as_the_problem(at_stopped: Shell, stopped_post: Post) -> None:
    damage(stopped_post.server.database, overwrite_all_but_the_first)

    done = at_stopped.am("status", "--json")

    assert done.code == 69
    assert "damaged" in done.json()["problem"]
    assert all(way in done.json()["problem"] for way in WAYS)


def test_a_server_does_not_start_over_it_and_says_what_to_do(stopped_post: Post) -> None:
    damage(stopped_post.server.database, overwrite_the_schema)

    done = stopped_post.server.am("serve", "--port", "0")

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert all(way in done.stderr for way in WAYS), done.stderr


def test_status_beside_a_server_that_knows_nothing_of_it_does_not_say_well(
    at_stopped: Shell, stopped_post: Post
) -> None:
    with stopped_post.server as server:
        with server.connect() as connection:
            connection.call("health_check")
        well = at_stopped.am("status", "--json")
        damage(server.database, overwrite_all_but_the_first)
        told = at_stopped.am("status", "--json")

    assert (well.code, well.json()["status"]) == (0, "ok")
    assert told.code == 1
    assert told.json()["status"] in ("damaged", "error", "degraded")
    assert "am doctor restore BACKUP" in json.dumps(told.json())


def overwrite_the_header(content: bytearray) -> None:
    content[:100] = b"\xa5" * 100


def cut_to_nothing(content: bytearray) -> None:
    content.clear()


@pytest.mark.parametrize("how", [overwrite_the_header, cut_to_nothing])
@pytest.mark.parametrize(
    "command", ["mail", "doctor verify", "doctor backup", "doctor repair", "serve", "archive path"]
)
def test_a_file_that_is_no_database_is_a_lost_one_where_archives_are(
    at_stopped: Shell, stopped_post: Post, command: str, how: Damage
) -> None:
    damage(stopped_post.server.database, how)
    before = stopped_post.server.database.read_bytes()

    done = at_stopped.am(*command.split())

    assert done.code == 1
    assert "the database of this store is lost" in done.err
    assert all(way in done.err for way in WAYS)
    assert stopped_post.server.database.read_bytes() == before


@pytest.mark.parametrize("how", [overwrite_the_header, cut_to_nothing, None])
def test_check_finds_that_there_is_no_database_and_looks_at_the_archives(
    at_stopped: Shell, stopped_post: Post, how: Damage | None
) -> None:
    if how is None:
        stopped_post.server.database.unlink()
    else:
        damage(stopped_post.server.database, how)

    done = at_stopped.am("doctor", "check", "--json")

    (lost,) = [one for one in done.json()["findings"] if one["check"] == "database"]
    assert done.code == 1
    assert lost["problem"] == "lost"
    assert all(way in lost["next_step"] for way in WAYS)
    assert f"archive {stopped_post.archive().name}" in [one["check"] for one in done.json()["checks"]]


@pytest.mark.parametrize("how", [overwrite_the_header, cut_to_nothing])
def test_status_calls_it_lost_and_a_rebuild_mends_it(at_stopped: Shell, stopped_post: Post, how: Damage) -> None:
    damage(stopped_post.server.database, how)

    lost = at_stopped.am("status", "--json")
    rebuilt = at_stopped.am("doctor", "rebuild")

    assert (lost.code, lost.json()["status"]) == (69, "lost")
    assert all(way in lost.json()["problem"] for way in WAYS)
    assert rebuilt.code == 0, rebuilt.err
    assert at_stopped.am("status", "--json").json()["status"] == "stopped"
