"""A mistaken command line ends with the next step: where an option goes, what is taken, which command was meant."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from mcp_agent_mail.cli.app import ENTRIES, app
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from tests.cli.shell import Shell
from tests.cli.test_json_option import commands, options_of


# Typer keeps the command classes private.
def group(name: str) -> Any:
    root: Any = typer.main.get_command(app)
    return root.command_named(name)


GROUPS = [name for name in ENTRIES if hasattr(group(name), "commands")]


def test_every_group_and_command_tells_mistakes_so() -> None:
    groups = [group(name) for name in GROUPS]

    assert all(isinstance(one, LeanGroup) for one in groups)
    assert all(isinstance(one, LeanCommand) for _, one in commands(typer.main.get_command(app)))


@pytest.mark.parametrize("name", [name for name in GROUPS if name != "mail"])
def test_an_option_before_its_command_is_told_behind_it(shell: Shell, name: str) -> None:
    own = options_of(group(name))
    for word, command in group(name).commands.items():
        for option in sorted(one for one in options_of(command) - own if one.startswith("-")):
            done = shell.am(name, option, "x", word)

            assert f"{option} goes behind the command: am {name} {word} {option}" in done.out + done.err


def test_an_agent_at_its_shell_gets_the_command_as_a_hint(shell: Shell) -> None:
    assert '"hint":"am robot inbox --agent NAME"' in shell.am("robot", "--agent", "BlueLake", "inbox").out
    assert '"hint":"am robot inbox --help"' in shell.am("robot", "inbox", "--unread").out


def test_an_option_before_a_group_is_told_behind_its_command(shell: Shell) -> None:
    told = shell.am("--project", "shop", "agents", "list").err

    assert "--project goes behind the command: am agents list --project PROJECT" in told


def test_an_option_that_no_command_behind_it_has_is_refused_alone(shell: Shell) -> None:
    assert "No such option: --frobnicate\n" in shell.am("agents", "--frobnicate", "list").err


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("mail", "--project", "shop", "send"), "am mail send --project shop"),
        (("mail", "--json", "inbox"), "am mail inbox --json"),
    ],
)
def test_a_command_of_mail_behind_options_is_no_agent(shell: Shell, arguments: tuple[str, ...], command: str) -> None:
    done = shell.am(*arguments)

    assert (done.code, f"The command comes first: {command}\n" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("token", "create", "ci"), "(ci). Its options: --agent, --project, --role, --expires, --note, --json."),
        (("products", "link", "shop", "P"), "(P). Its options: --project, --json."),
        (("config", "show", "HTTP_PORT"), "(HTTP_PORT). Its options: --env-file, --json."),
        (("mail", "send", "RedStone", "-s", "hi", "-m", "there"), "No such option: -m. Its options: --to, --subject,"),
    ],
)
def test_what_is_too_much_is_told_the_options_that_there_are(
    shell: Shell, arguments: tuple[str, ...], said: str
) -> None:
    done = shell.am(*arguments)

    assert (done.code, said in done.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("help",), "Run am --help."),
        (("version",), "Run am --version."),
        (("inbox",), "Run am mail inbox."),
        (("send",), "Run am mail send."),
        (("mail", "help"), "Run am mail --help."),
        (("token", "help"), "Run am token --help."),
    ],
)
def test_a_word_that_is_no_command_names_what_is_meant(shell: Shell, words: tuple[str, ...], meant: str) -> None:
    done = shell.am(*words)

    assert (done.code, f"There is no am {' '.join(words)}. {meant}\n" in done.err) == (2, True)


@pytest.mark.parametrize(
    "words", [(), ("mail",), ("mail", "send"), ("robot",), ("robot", "inbox"), ("token", "create")]
)
def test_h_is_help(shell: Shell, words: tuple[str, ...]) -> None:
    short, long = shell.am(*words, "-h"), shell.am(*words, "--help")

    assert (short.code, short.out) == (0, long.out)


def test_no_command_has_another_h() -> None:
    assert not [name for name, one in commands(typer.main.get_command(app)) if "-h" in options_of(one)]
