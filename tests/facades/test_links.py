"""What an operator is told to run where a door refuses a name: run as it stands, it does what it says."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.facades.claude_mailbox.mailbox_server import Got, MailboxServer, open_mailboxes

OPEN = {"AGENTMAIL_ENABLED": "true"}
ODD = ("-eve", "--json", "it's eve", "$HOME", "René")


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A directory that a project is of."""
    made = tmp_path / "code" / "app"
    made.mkdir(parents=True)
    return made


def window(server: MailboxServer, app: Path, name: str) -> Got:
    """AgentMail's question for mail, of a window of that directory."""
    return server.ask("POST", "/agentmail/pop", body={"project": str(app), "name": name}, port=server.served.port)


def run(server: MailboxServer, error: dict[str, Any]) -> None:
    """The command that stands last in the hint, from a directory that is no project's."""
    _, _, rest = error["hint"].partition(" run: ")
    command = shlex.split(rest)
    assert command[:3] == ["am", "facade", "link"]
    done = server.served.am(*command[1:])
    assert done.returncode == 0, done.stderr


def test_the_command_links_the_agent_that_was_refused_and_not_another_of_that_name(tmp_path: Path, app: Path) -> None:
    with open_mailboxes(tmp_path / "store", AGENT_AUTH="strict", **OPEN) as server:
        server.send("al", "eve", "makes the doors' project")
        home = str(tmp_path / "store" / "neighbours")
        with server.served.connect() as connection:
            for project in (str(app), home):
                connection.call("ensure_project", human_key=project)
                connection.call("register_agent", project_key=project, program="p", model="m", name="eve")

        refused = window(server, app, "eve")
        run(server, refused.value["error"])
        taken = window(server, app, "eve")
        at_home = server.ask("POST", "/v1/check-inbox", name="eve")

    assert (refused.status, taken.status) == (403, 200)
    assert at_home.status == 403


def test_the_command_means_the_name_however_it_is_written(tmp_path: Path, app: Path) -> None:
    verdicts = {}
    with open_mailboxes(tmp_path / "store", FACADES_PROJECT=str(app), **OPEN) as server:
        for name in ODD:
            created = server.ask("POST", "/v1/check-inbox", name=name)
            refused = window(server, app, name)
            run(server, refused.value["error"])
            verdicts[name] = (created.status, refused.status, window(server, app, name).status)

    assert verdicts == dict.fromkeys(ODD, (200, 409, 200))


@pytest.mark.parametrize(("project", "is_told"), [("no-such-slug", True), ("/not/made/yet", False)])
def test_a_start_with_a_project_of_doors_that_is_none_says_so(tmp_path: Path, project: str, is_told: bool) -> None:
    with open_mailboxes(tmp_path / "store", FACADES_PROJECT=project) as server:
        refused = server.ask("POST", "/v1/send", name="al", body={"to": "bob", "body": "1"})
        log = server.served.log.read_text()

    told = "FACADES_PROJECT names no project: 'no-such-slug'."
    assert (told in log) == is_told
    assert (refused.status, str(refused.value.get("error")).startswith(told)) == (
        (404, True) if is_told else (200, False)
    )


def test_a_project_that_is_none_is_named_as_that_with_the_one_that_is_meant(tmp_path: Path, app: Path) -> None:
    with open_mailboxes(tmp_path / "store", FACADES_PROJECT=str(app), **OPEN) as server:
        server.send("al", "eve", "1")

        done = server.served.am("facade", "link", "eve", "agentmail", "--project", f"{tmp_path}/code/ap")

    assert done.returncode != 0
    assert f"Unknown project: {tmp_path}/code/ap." in done.stderr
    assert f"Did you mean {app}?" in done.stderr
