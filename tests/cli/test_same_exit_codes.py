"""A command ends with the same code whether a server runs or not."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.conftest import Post
from tests.cli.shell import Shell

COMMANDS = (
    "mail inbox",
    "mail inbox NoSuchAgent",
    "mail inbox --limit 0",
    "mail held",
    "mail read 1",
    "mail read 999999",
    "mail thread parser",
    "mail thread no-such-thread",
    "mail search lexer",
    "mail status 1",
    "mail status 999999",
    "mail send --to NoSuchAgent --subject s --body b",
    "mail withdraw 999999",
    "mail attachment 1 no-such-file",
    "agents list",
    "agents show BlueLake",
    "agents show NoSuchAgent",
    "agents retire NoSuchAgent",
    "projects list",
    "projects show",
    "projects show no-such-project",
    "projects codes",
    "projects revoke-code no-such-code",
    "reservations list",
    "reservations active",
    "reservations release 999999",
    "contacts list",
    "contacts requests",
    "contacts approve NoSuchAgent BlueLake",
    "archive stats",
    "archive path",
    "archive path no-such-project",
    "history message 999999",
    "history agent NoSuchAgent",
    "token reissue NoSuchAgent",
    "facade status",
    "facade names",
    "env",
    "config check",
    "config show-port",
    "list-projects",
    "migrate",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_with_a_server_and_without_one_a_command_ends_alike(
    shell: Shell, post: Post, stopped_post: Post, command: str
) -> None:
    codes = []
    for one in (post, stopped_post):
        shell.set(STORAGE_ROOT=str(one.server.root), AGENT_MAIL_PROJECT=one.project, AGENT_NAME="BlueLake")
        codes.append(shell.am(*shlex.split(command)).code)

    assert codes[0] == codes[1]
    assert codes[0] in (0, 1, 2)
