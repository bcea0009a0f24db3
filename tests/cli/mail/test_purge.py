"""`am mail purge` over a store of its own: what it lets go does not come back."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.served import Served

PROJECT = "/code/attic"
YEAR_US = 365 * 24 * 3_600 * 1_000_000


@pytest.fixture
def attic(tmp_path: Path) -> Served:
    """A stopped server whose project has two old messages that were read, and a new one."""
    server = Served(tmp_path / "store", HOME=str(tmp_path))
    with server, server.connect() as connection:
        connection.call("ensure_project", human_key=PROJECT)
        for name in ("BlueLake", "RedStone"):
            connection.call("register_agent", project_key=PROJECT, program="p", model="m", name=name)
        ids = [
            connection.call(
                "send_message",
                project_key=PROJECT,
                sender_name="BlueLake",
                to=["RedStone"],
                subject=subject,
                body_md="Words of old.",
            )["deliveries"][0]["payload"]["id"]
            for subject in ("Old", "Older", "New")
        ]
        connection.call("mark_message_read", project_key=PROJECT, agent_name="RedStone", message_ids=ids)
    with closing(sqlite3.connect(tmp_path / "store" / "mail.sqlite3")) as database, database:
        for table, column in (("messages", "created_ts"), ("recipients", "delivered_ts"), ("recipients", "read_ts")):
            key = "id" if table == "messages" else "message_id"
            database.execute(f"UPDATE {table} SET {column} = {column} - {YEAR_US} WHERE {key} < ?", (ids[2],))
    return server


@pytest.fixture(params=[True, False], ids=["with a server", "without one"])
def at_attic(request: pytest.FixtureRequest, shell: Shell, attic: Served) -> Iterator[Shell]:
    shell.set(STORAGE_ROOT=str(attic.root), AGENT_MAIL_PROJECT=PROJECT)
    if request.param:
        with attic:
            yield shell
    else:
        yield shell


def bodies(shell: Shell) -> list[str]:
    inbox = shell.am("mail", "inbox", "RedStone", "--json").json()
    return [shell.am("mail", "read", str(one["id"]), "--json").json()["body_md"] for one in reversed(inbox["messages"])]


def test_without_a_yes_it_is_counted_alone(at_attic: Shell) -> None:
    done = at_attic.am("mail", "purge")
    as_json = at_attic.am("mail", "purge", "--json").json()

    assert done.code == 0
    assert done.out.splitlines()[0] == "may go\t2"
    assert done.out.splitlines()[-1] == "Nothing was changed. --yes lets them go."
    assert (as_json["status"], as_json["messages_affected"]) == ("dry_run", 2)
    assert bodies(at_attic) == ["Words of old."] * 3


def test_with_a_yes_what_is_old_goes_and_what_is_new_stays(at_attic: Shell) -> None:
    done = at_attic.am("mail", "purge", "--yes", "--json")
    again = at_attic.am("mail", "purge", "--yes")

    assert (done.code, done.json()["status"], done.json()["messages_affected"]) == (0, "purged", 2)
    assert again.lines()[0] == ["gone", "0"]
    assert [body == "Words of old." for body in bodies(at_attic)] == [False, False, True]


def test_the_age_may_be_said(at_attic: Shell) -> None:
    done = at_attic.am("mail", "purge", "--max-age-days", "400")

    assert (done.code, dict(done.lines())["may go"], dict(done.lines())["days"]) == (0, "0", "400")


@pytest.mark.parametrize(("said", "code", "left"), [("n", 1, 3), ("y", 0, 1)])
def test_on_a_terminal_it_asks(
    at_attic: Shell, monkeypatch: pytest.MonkeyPatch, said: str, code: int, left: int
) -> None:
    monkeypatch.setattr(sys, "stdin", _Terminal(said))

    done = at_attic.am("mail", "purge")

    assert (done.code, "Let them go?" in done.err) == (code, True)
    assert bodies(at_attic).count("Words of old.") == left


class _Terminal:
    def __init__(self, said: str) -> None:
        self._lines = [f"{said}\n"]

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self._lines.pop(0)
