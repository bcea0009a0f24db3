"""Which server, which token: the gateway's choices, seen from outside."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.cli.gateway.port import open_gateway, require_server
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.cli.beginning_server import OPERATORS, beginning
from tests.cli.command_line import am, environment
from tests.cli.conftest import Post
from tests.cli.scripted_server import answer
from tests.cli.shell import Shell
from tests.served import Served


def test_a_named_server_is_asked_instead_of_the_own_store(post: Post, tmp_path: Path) -> None:
    done = am("projects", "list", "--json", home=tmp_path, AGENT_MAIL_URL=f"http://127.0.0.1:{post.server.port}/mcp")

    assert post.project in [project["human_key"] for project in json.loads(done.stdout)]


def test_a_store_that_is_here_and_free_is_not_passed_over_for_a_server_of_another(
    post: Post, stopped_post: Post
) -> None:
    done = stopped_post.server.am("projects", "list", "--json")
    settings = stopped_post.server.environment() | {"HTTP_PORT": str(post.server.port)}
    besides_another = subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", "projects", "list", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env=settings,
    )

    assert [project["human_key"] for project in json.loads(done.stdout)] == [stopped_post.project]
    assert besides_another.stdout == done.stdout


def test_the_operators_token_is_not_sent_to_a_named_server_of_another_store(post: Post, tmp_path: Path) -> None:
    """Elsewhere we are nobody's operator: writing as Human is refused."""
    done = am(
        *("mail", "send", "--to", "RedStone", "-s", "x", "y", "--project", post.project),
        home=tmp_path,
        AGENT_MAIL_URL=f"http://127.0.0.1:{post.server.port}",
    )

    assert done.returncode == 1
    assert done.stderr.startswith("Error (PERMISSION_DENIED): ")
    assert "Hint: AGENT_MAIL_TOKEN needs a token of the role operator: am token create --role operator" in done.stderr


def test_naming_the_server_of_the_own_store_keeps_the_operators_rights(post: Post, tmp_path: Path) -> None:
    done = am(
        *("mail", "send", "--to", "RedStone", "-s", "x", "y", "--project", post.project),
        home=tmp_path,
        STORAGE_ROOT=str(post.server.root),
        AGENT_MAIL_URL=f"http://127.0.0.1:{post.server.port}",
    )

    assert (done.returncode, done.stderr) == (0, "")


UNSENT = "Notice: AGENT_MAIL_TOKEN is not sent: the store in {} is your own, and you are its operator.\n"


def test_a_token_that_does_not_count_for_the_own_store_is_said_to_be_unsent(
    post: Post, stopped_post: Post, shell: Shell
) -> None:
    told = []
    for root in (post.server.root, stopped_post.server.root):
        shell.set(STORAGE_ROOT=str(root), AGENT_MAIL_TOKEN="amk_somebodys")
        done = shell.am("projects", "list", "--json")
        assert done.code == 0
        assert done.json()
        told.append(done.err == UNSENT.format(root))

    assert told == [True, True]


def test_a_token_that_counts_or_would_be_no_other_is_not_mentioned(post: Post, shell: Shell) -> None:
    shell.set(STORAGE_ROOT=str(post.server.root), AGENT_MAIL_TOKEN="a-very-long-server-token")
    shell.set(HTTP_BEARER_TOKEN="a-very-long-server-token")
    same = shell.am("projects", "list")
    shell.unset("HTTP_BEARER_TOKEN")
    agents = shell.am("robot", "status", "--agent", "BlueLake", "--project", post.project)
    shell.set(STORAGE_ROOT=str(shell.home / "none"), AGENT_MAIL_URL=f"http://127.0.0.1:{post.server.port}")
    sent = shell.am("projects", "list")

    assert (same.err, agents.err) == ("", "")
    assert "is not sent" not in sent.err


def test_a_server_with_a_token_is_opened_by_the_operators(tmp_path: Path) -> None:
    with Served(tmp_path / "store", HOME=str(tmp_path), HTTP_BEARER_TOKEN="a-very-long-server-token") as server:
        ours = server.am("projects", "list")
        strangers = am("projects", "list", home=tmp_path, AGENT_MAIL_URL=f"http://127.0.0.1:{server.port}")
        friends = am(
            *("projects", "list"),
            home=tmp_path,
            AGENT_MAIL_URL=f"http://127.0.0.1:{server.port}",
            AGENT_MAIL_TOKEN="a-very-long-server-token",
        )

    assert (ours.returncode, friends.returncode, strangers.returncode) == (0, 0, 1)
    assert strangers.stderr.startswith("Error (AUTHENTICATION_REQUIRED): ")
    assert "AGENT_MAIL_TOKEN" in strangers.stderr


def test_what_is_no_agent_mail_server_is_told_as_such(tmp_path: Path) -> None:
    program = (
        "import http.server\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "print(server.server_port, flush=True)\n"
        "server.handle_request()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path
    ) as other:
        assert other.stdout is not None
        port = other.stdout.readline().strip()
        done = am("projects", "list", home=tmp_path, AGENT_MAIL_URL=f"http://127.0.0.1:{port}")

    assert done.returncode == 69
    assert "no agent-mail server" in done.stderr


def test_commands_without_a_server_wait_for_each_other(stopped_post: Post) -> None:
    send = ["mail", "send", "--to", "RedStone", "-s", "at once", "x", "--project", stopped_post.project]
    command = [sys.executable, "-m", "mcp_agent_mail", *send]
    settings = stopped_post.server.environment()
    processes = [
        subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    errors = [process.communicate(timeout=60)[1] for process in processes]

    inbox = json.loads(
        stopped_post.server.am("mail", "inbox", "RedStone", "--project", stopped_post.project, "--json").stdout
    )
    assert errors == ["", "", ""]
    assert [message["subject"] for message in inbox["messages"]].count("at once") == 3


def test_a_store_that_another_process_keeps_is_told_with_its_owner(stopped_post: Post) -> None:
    server = stopped_post.server
    with StoreLock(server.root, server.database):
        done = server.am("mail", "inbox", "--project", stopped_post.project)

    assert done.returncode == 69
    assert "is in use by process" in done.stderr


def test_an_agents_own_token_does_not_make_the_person_that_agent(post: Post) -> None:
    with post.server.connect() as connection:
        token = connection.call(
            "register_agent", project_key=post.project, name="GreenHill", program="tester", model="scripted"
        )["registration_token"]

    done = subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", "mail", "send", "--to", "RedStone", "-s", "x", "y", "--json"],
        capture_output=True,
        text=True,
        check=True,
        cwd=post.project,
        env=environment(
            Path(post.project),
            STORAGE_ROOT=str(post.server.root),
            AGENT_MAIL_AGENT_TOKEN=token,
            AGENT_MAIL_PROJECT=post.project,
        ),
    )

    assert json.loads(done.stdout)["deliveries"][0]["payload"]["from"] == "Human"


def test_mail_of_another_store_is_said_to_be_and_is_not_shown_where_a_store_was_named(
    post: Post, shell: Shell, tmp_path: Path
) -> None:
    shell.set(HTTP_PORT=str(post.server.port))
    by_default = shell.am("projects", "list")
    shell.set(STORAGE_ROOT=str(tmp_path / "new"))
    named = shell.am("projects", "list")

    another = f"The server at http://127.0.0.1:{post.server.port} serves another store"
    assert (by_default.code, named.code, named.out) == (0, 69, "")
    assert by_default.err.startswith(f"Notice: there is no store in {shell.home}/.mcp_agent_mail. {another}")
    assert post.project in by_default.out
    assert another in named.err
    assert f"AGENT_MAIL_URL=http://127.0.0.1:{post.server.port} am" in named.err


def test_an_older_store_is_not_brought_up_to_date_by_a_command(at_stopped: Shell, stopped_post: Post) -> None:
    database = stopped_post.server.database
    with closing(sqlite3.connect(database)) as connection:
        newest = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute(f"PRAGMA user_version={newest - 1}")

    inbox = at_stopped.am("mail", "inbox")
    sent = at_stopped.am("mail", "send", "--to", "RedStone", "-s", "x", "y")
    renewed = at_stopped.am("archive", "renew", stopped_post.project)

    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (newest - 1,)
    assert list(database.parent.glob("*.before-*")) == []
    for done in (inbox, sent, renewed):
        assert done.code == 69
        assert f"has schema {newest - 1}, of an older version; this one's is {newest}." in done.err
        assert "Start `am serve` once" in done.err


@pytest.mark.parametrize("is_named", [True, False])
def test_a_server_that_begins_this_very_store_meanwhile_is_gone_on_with(is_named: bool, shell: Shell) -> None:
    """And its operator's token is sent to it, which nobody else is shown."""
    if is_named:
        shell.set(STORAGE_ROOT=str(shell.home / "new"))
    context = shell.context()
    told = {"database_url": context.settings.database_url}
    answers = {"/rpc/health_check": answer(told), "/rpc/read_resource": answer([])}
    with beginning(context, answers) as (url, proofs):
        shell.set(HTTP_PORT=url.rpartition(":")[2])
        done = shell.am("projects", "list", "--json")

    assert (done.code, done.err, done.json()) == (0, "", [])
    assert proofs == [None, f"Bearer {OPERATORS}"]


def test_a_token_is_said_to_be_unsent_to_a_server_that_begins_this_store_too(shell: Shell) -> None:
    shell.set(STORAGE_ROOT=str(shell.home / "new"), AGENT_MAIL_TOKEN="amk_somebodys")
    context = shell.context()
    with beginning(context, {"/rpc/health_check": answer({}), "/rpc/read_resource": answer([])}) as (url, _):
        shell.set(HTTP_PORT=url.rpartition(":")[2])
        done = shell.am("projects", "list", "--json")

    assert (done.code, done.err) == (0, UNSENT.format(context.storage_root))


def test_who_waits_goes_on_with_a_server_that_begins_this_store(shell: Shell) -> None:
    shell.set(STORAGE_ROOT=str(shell.home / "new"))
    with beginning(shell.context(), {"/rpc/health_check": answer({})}) as (url, _):
        shell.set(HTTP_PORT=url.rpartition(":")[2])
        server = require_server(shell.context())

    assert (server.url, server.bearer_token, server.is_others) == (url, OPERATORS, False)


@pytest.mark.parametrize("is_served", [True, False])
def test_a_token_that_an_agent_sends_or_that_is_an_operators_is_not_said_to_be_unsent(
    is_served: bool, post: Post, stopped_post: Post, shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    told, root = [], (post if is_served else stopped_post).server.root
    for token in ("amk_somebodys", "amo_anothers"):
        shell.set(STORAGE_ROOT=str(root), AGENT_MAIL_TOKEN=token)
        for context in (shell.context().as_agent(), shell.context()):
            capsys.readouterr()
            with open_gateway(context):
                told.append(capsys.readouterr().err)

    assert told == ["", UNSENT.format(root), "", ""]
