from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
import typer

from mcp_agent_mail import cli
from mcp_agent_mail.cli.arguments import given_path, reading_argument
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from tests.cli.shell import Shell


def test_what_is_no_such_value_is_misuse_that_keeps_its_fact_and_its_hint() -> None:
    with pytest.raises(typer.BadParameter) as wrong, reading_argument("--at"):
        raise InvalidInput("'x' is no time.", hint="Write ISO 8601.")

    assert (wrong.value.param_hint, wrong.value.message) == ("--at", "'x' is no time. Write ISO 8601.")


def test_any_other_refusal_stays_what_it_is() -> None:
    with pytest.raises(NotFound), reading_argument("ID"):
        raise NotFound("no such message")


def test_a_path_begins_at_ones_home_at_another_users_or_where_we_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")

    assert [str(given_path(text, "DIR")) for text in ("~", "~/a", "~//a", "a/~", "./~nosuch", ".")] == [
        *("/home/me", "/home/me/a", "/home/me/a", "a/~", "~nosuch", "."),
    ]
    assert given_path("~root/a", "DIR") == Path(pwd.getpwnam("root").pw_dir, "a")


@pytest.mark.parametrize("home", ["", "rel"])
def test_without_a_home_of_its_own_the_password_file_says_where_that_is(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", home)

    assert given_path("~/a", "DIR") == Path(pwd.getpwuid(os.getuid()).pw_dir, "a")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("setup --dry-run --project ~nosuch", "--project"),
        ("guard install ~nosuch", "PATH"),
        ("guard status ~nosuch/a", "PATH"),
        ("guard uninstall ~nosuch", "PATH"),
        ("archive save ~nosuch/a.tar", "FILE"),
        ("archive list ~nosuch/a.tar", "FILE"),
        ("archive restore a.tar --into ~nosuch", "--into"),
        ("archive restore a.tar --map /a=~nosuch/a", "--map"),
        ("archive export app ~nosuch", "DIR"),
        ("projects mark-identity ~nosuch", "DIRECTORY"),
        ("projects show ~nosuch", "PROJECT"),
        ("mail inbox BlueLake --project ~nosuch", "--project"),
        ("mail send --from BlueLake --to RedStone --subject a b --attach ~nosuch/a.png", "--attach"),
    ],
)
def test_the_home_of_nobody_is_misuse_in_every_command(command: str, name: str, at_post: Shell) -> None:
    done = at_post.am(*command.split())

    assert (done.code, done.out) == (2, "")
    assert "there is no user nosuch" in " ".join(done.err.split())
    assert name in done.err


@pytest.mark.parametrize("command", ["archive save ~nosuch/a.tar", "archive export app ~nosuch"])
def test_so_it_is_where_nothing_was_archived_yet(command: str, shell: Shell) -> None:
    assert shell.am(*command.split()).code == 2


def test_no_command_reads_a_home_in_another_way() -> None:
    folder = Path(cli.__file__).parent
    files = [file for file in folder.rglob("*.py") if file != folder / "arguments.py"]

    assert [str(file) for file in files if "expanduser" in file.read_text() or "Path.home" in file.read_text()] == []
