"""What commands say of a store that can only be read: which file, why, and a next step."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Post
from tests.cli.shell import Shell
from tests.cli.test_damaged_database import READING
from tests.faults.disks import read_only

NEXT_STEPS = ("Mount it for writing", "STORAGE_ROOT")
OTHERS = (
    "mail send --from BlueLake --to RedStone --subject Hello Yours?",
    "top --once",
    "token list",
    "doctor repair",
    "doctor rebuild",
    "facade status",
    "robot status",
)
RAW = ("[Errno", "unable to open", "attempt to write", "Call again", "Free some space", "Traceback")


def require_told(command: str, said: str, path: Path) -> None:
    assert f"{path} cannot be written" in said, (command, said)
    assert all(step in said for step in NEXT_STEPS), (command, said)
    assert not any(raw in said for raw in RAW), (command, said)


@pytest.fixture
def root(stopped_post: Post) -> Path:
    return stopped_post.server.root


def test_every_command_names_what_cannot_be_written_and_a_next_step(
    at_stopped: Shell, stopped_post: Post, root: Path, tmp_path: Path
) -> None:
    at_stopped.set(AGENT_MAIL_AGENT="BlueLake")
    with read_only(root):
        for command in (*READING, *OTHERS):
            words = command.replace("PROJECT", stopped_post.project).replace("BACKUPS", str(tmp_path / "backups"))
            done = at_stopped.am(*words.split())
            said = done.out + done.err

            assert done.code in (1, 69), (command, said)
            file = "server.lock" if "server.lock" in said else "mail.sqlite3"
            require_told(command, said, root / file)


def test_a_database_that_can_only_be_read_is_told_where_something_is_written(at_stopped: Shell, root: Path) -> None:
    with read_only(root / "mail.sqlite3"):
        read = at_stopped.am("mail", "inbox", "RedStone")
        sent = at_stopped.am(*OTHERS[0].split())

    assert read.code == 0
    assert sent.code == 69
    require_told(OTHERS[0], sent.err, root / "mail.sqlite3")


@pytest.mark.parametrize(("part", "told"), [("", "server.lock"), ("mail.sqlite3", "mail.sqlite3")])
def test_a_server_does_not_start_over_it_and_says_why(stopped_post: Post, root: Path, part: str, told: str) -> None:
    with read_only(root / part):
        done = stopped_post.server.am("serve", "--port", "0")

    assert done.returncode == 1
    require_told("serve", done.stderr, root / told)


def test_status_shows_it_as_the_problem(at_stopped: Shell, root: Path) -> None:
    with read_only(root):
        done = at_stopped.am("status", "--json")

    assert done.code == 69
    require_told("status", done.json()["problem"], root / "mail.sqlite3")


def test_a_file_elsewhere_that_cannot_be_written_is_none_of_the_stores(at_stopped: Shell, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with read_only(elsewhere):
        done = at_stopped.am("archive", "save", str(elsewhere / "saved.tar"))

    assert done.code != 0
    assert "whoever uses a store" not in done.err
    shutil.rmtree(elsewhere)
