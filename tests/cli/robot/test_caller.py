"""As whom the robot asks: never with the operator's token, over HTTP or in process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.store_owner import Owner
from tests.cli.robot.conftest import AGENT, PEER, RobotPost
from tests.cli.scripted_server import ScriptedServer, answer
from tests.cli.shell import Shell

OPERATOR = "amo_" + "o" * 40
ASKED = ("status", "whoami", "inbox", "reservations", "thread 7", "search plan")
COUNTS = {"total": 0, "unread_count": 0, "ack_pending": 0, "urgent_unread": 0}


@pytest.fixture
def listener() -> Iterator[ScriptedServer]:
    """It records what it is sent, and answers all questions alike."""
    with ScriptedServer(answer(COUNTS)) as server:
        yield server


def sent(server: ScriptedServer) -> str:
    return "\n".join(json.dumps([one.path, dict(one.headers), one.body.decode()]) for one in server.asked)


def own(root: Path, url: str) -> int:
    """Own the store as a server does, with the token of its operator beside; gives the lock to be closed."""
    import fcntl

    root.mkdir(exist_ok=True)
    (root / "operator.token").write_text(OPERATOR)
    owner = {"pid": os.getpid(), "url": url, "started": "2026-11-21T00:00:00+00:00"}
    (root / "server.json").write_text(json.dumps(owner))
    lock = os.open(root / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


@pytest.mark.parametrize("question", ASKED)
def test_the_owner_of_the_store_is_sent_the_agents_token_alone(
    question: str, shell: Shell, listener: ScriptedServer, tmp_path: Path
) -> None:
    shell.set(STORAGE_ROOT=str(tmp_path / "store"), AGENT_NAME=AGENT, AGENT_MAIL_AGENT_TOKEN="amt_mine")
    lock = own(tmp_path / "store", listener.url)
    try:
        assert shell.context().owner() == Owner(
            pid=os.getpid(), url=listener.url, started="2026-11-21T00:00:00+00:00", listens_on=None
        )
        shell.am("robot", *question.split())
    finally:
        os.close(lock)

    assert listener.asked
    assert OPERATOR not in sent(listener)
    assert {one.headers.get("x-agent-token") for one in listener.asked} == {"amt_mine"}
    assert {one.headers.get("authorization") for one in listener.asked} == {None}


def test_the_same_server_is_sent_the_operators_token_by_a_command_for_people(
    shell: Shell, listener: ScriptedServer, tmp_path: Path
) -> None:
    shell.set(STORAGE_ROOT=str(tmp_path / "store"), AGENT_NAME=AGENT)
    lock = own(tmp_path / "store", listener.url)
    try:
        shell.am("status")
    finally:
        os.close(lock)

    assert OPERATOR in sent(listener)


def test_a_named_server_gets_its_token_unless_that_is_an_operators(shell: Shell, listener: ScriptedServer) -> None:
    shell.set(AGENT_MAIL_URL=listener.url, AGENT_NAME=AGENT, AGENT_MAIL_TOKEN="the-servers-own-token")
    shell.am("robot", "inbox")
    first = {one.headers.get("authorization") for one in listener.asked}
    listener.asked.clear()

    shell.set(AGENT_MAIL_TOKEN=OPERATOR, AGENT_MAIL_AGENT_TOKEN=OPERATOR)
    shell.am("robot", "inbox")

    assert first == {"Bearer the-servers-own-token"}
    assert listener.asked
    assert OPERATOR not in sent(listener)


def test_whoever_listens_where_no_store_is_gets_no_token(shell: Shell, listener: ScriptedServer) -> None:
    shell.set(
        HTTP_PORT=str(listener.port),
        AGENT_NAME=AGENT,
        AGENT_MAIL_TOKEN="the-servers",
        AGENT_MAIL_AGENT_TOKEN="amt_mine",
    )

    shell.am("robot", "inbox")

    assert listener.asked
    assert "amt_mine" not in sent(listener)
    assert "the-servers" not in sent(listener)


def test_under_strict_a_token_is_wanted_though_the_operators_lies_there(at_shell: Shell, robot_post: RobotPost) -> None:
    robot_post.server.stop()
    strict = type(robot_post.server)(robot_post.server.root, AGENT_AUTH="strict", HOME=str(at_shell.home))
    with strict:
        proven = at_shell.am("robot", "inbox")
        at_shell.unset("AGENT_MAIL_AGENT_TOKEN")
        refused = at_shell.am("robot", "inbox")

    assert (proven.code, proven.json()["unread_count"]) == (0, 0)
    assert (refused.code, refused.err) == (1, "")
    assert refused.json()["error"]["type"] == "AUTHENTICATION_REQUIRED"


def test_without_a_server_the_store_asks_for_the_same_proof(at_shell: Shell, robot_post: RobotPost) -> None:
    robot_post.send("Waiting")
    robot_post.server.stop()
    at_shell.set(AGENT_AUTH="strict")

    proven = at_shell.am("robot", "inbox")
    at_shell.unset("AGENT_MAIL_AGENT_TOKEN")
    refused = at_shell.am("robot", "inbox")

    assert [one["subject"] for one in proven.json()["messages"]] == ["Waiting"]
    assert refused.json()["error"]["type"] == "AUTHENTICATION_REQUIRED"
    assert refused.code == 1


def test_git_names_who_asks_where_the_environment_does_not(at_shell: Shell, robot_post: RobotPost) -> None:
    at_shell.unset("AGENT_NAME", "AGENT_MAIL_PROJECT")
    repository = Path(robot_post.project)
    for command in (["init", "-q"], ["config", "agent-mail.name", AGENT]):
        subprocess.run(["git", "-C", str(repository), *command], check=True)
    at_shell.go_to(repository)

    found = at_shell.am("robot", "whoami").json()

    assert (found["agent"], found["project"]) == (AGENT, robot_post.project)


@pytest.mark.parametrize("question", ASKED)
def test_who_asks_can_be_said_in_the_command_and_counts_before_the_environment(
    question: str, shell: Shell, listener: ScriptedServer
) -> None:
    shell.set(AGENT_MAIL_URL=listener.url, AGENT_MAIL_PROJECT="shop")
    shell.am("robot", *question.split(), "--agent", PEER)
    alone = sent(listener)
    listener.asked.clear()

    shell.set(AGENT_NAME=AGENT)
    shell.am("robot", *question.split(), "-a", PEER)

    assert sent(listener) == alone
    assert AGENT not in alone
    assert (PEER in alone) is not question.startswith(("reservations", "search"))


def test_a_blank_name_in_the_command_is_none(at_shell: Shell) -> None:
    assert at_shell.am("robot", "whoami", "--agent", " ").json()["agent"] == AGENT


def test_nobody_named_is_an_error_with_the_next_step(shell: Shell) -> None:
    done = shell.am("robot", "status")

    error = done.json()["error"]
    assert (done.code, done.err, error["type"]) == (1, "", "INVALID_INPUT")
    assert "--agent NAME" in error["hint"]
    assert "AGENT_NAME" in error["hint"]
