"""Whatever goes wrong is one line of JSON on standard output, with the exit code of every other command."""

from __future__ import annotations

import pytest

from mcp_agent_mail.cli.robot.line import MAX_BYTES
from tests.cli.robot.conftest import AGENT, RobotPost
from tests.cli.scripted_server import SILENCE, ScriptedServer, answer
from tests.cli.shell import Ended, Shell


def told(done: Ended) -> tuple[int, str]:
    """The code and the type of one line, with nothing beside it."""
    assert done.err == ""
    assert len(done.out.splitlines()) == 1
    assert len(done.out.encode()) <= MAX_BYTES
    return done.code, done.json()["error"]["type"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("inbox", "--nonsense"), "--nonsense"),
        (("inbox", "--limit", "0"), "1 to 1000"),
        (("inbox", "--format", "yaml"), "json, toon"),
        (("thread",), "ID"),
        (("nosuch",), "nosuch"),
        (("--nonsense",), "--nonsense"),
    ],
    ids=str,
)
def test_wrong_usage(words: tuple[str, ...], said: str, shell: Shell) -> None:
    done = shell.am("robot", *words)

    assert told(done) == (2, "USAGE")
    assert said in done.json()["error"]["message"]


def test_what_the_server_refuses_keeps_its_type_hint_and_data(at_shell: Shell) -> None:
    at_shell.set(AGENT_NAME="BluLake")

    done = at_shell.am("robot", "inbox")

    assert told(done)[0] == 1
    error = done.json()["error"]
    assert error["type"] in ("NOT_FOUND", "PERMISSION_DENIED")
    assert error["message"]


def test_a_wrong_token_is_refused(at_shell: Shell) -> None:
    at_shell.set(AGENT_MAIL_AGENT_TOKEN="amt_wrong")

    assert told(at_shell.am("robot", "whoami")) == (1, "PERMISSION_DENIED")


def test_neither_server_nor_store(shell: Shell) -> None:
    shell.set(AGENT_NAME=AGENT, STORAGE_ROOT=str(shell.home / "none"))

    assert told(shell.am("robot", "status")) == (69, "UNAVAILABLE")


def test_settings_that_cannot_be_used(shell: Shell) -> None:
    shell.set(AGENT_NAME=AGENT, LOG_LEVEL="LOUD")

    done = shell.am("robot", "status")

    assert told(done) == (78, "CONFIG")
    assert "LOG_LEVEL" in done.json()["error"]["message"]


def test_a_damaged_database(at_shell: Shell, robot_post: RobotPost) -> None:
    robot_post.server.stop()
    for path in robot_post.server.root.glob("mail.sqlite3*"):
        path.write_bytes(b"SQLite format 3\0" + b"\xff" * 8_192 if path.suffix == ".sqlite3" else b"")

    done = at_shell.am("robot", "inbox")

    assert told(done)[0] in (1, 69)
    assert done.json()["error"]["hint"]


def test_a_server_that_answers_something_else(shell: Shell) -> None:
    with ScriptedServer(answer(["no", "object"])) as server:
        shell.set(AGENT_MAIL_URL=server.url, AGENT_NAME=AGENT)
        assert told(shell.am("robot", "status")) == (70, "INTERNAL")


def test_a_server_that_goes_away(shell: Shell) -> None:
    with ScriptedServer(SILENCE) as server:
        shell.set(AGENT_MAIL_URL=server.url, AGENT_NAME=AGENT)
        assert told(shell.am("robot", "status")) == (69, "UNAVAILABLE")


def test_an_error_of_many_words_is_cut(shell: Shell) -> None:
    long = {"type": "CONFLICT", "message": "word " * 2_000, "hint": "step " * 500, "data": {"names": ["x" * 100] * 50}}
    with ScriptedServer(answer({"error": long}, status=409)) as server:
        shell.set(AGENT_MAIL_URL=server.url, AGENT_NAME=AGENT)
        done = shell.am("robot", "status")

    assert told(done) == (1, "CONFLICT")
    assert done.json()["cut"] is True


def test_the_group_alone_and_its_help_are_for_people(shell: Shell) -> None:
    alone, asked = shell.am("robot"), shell.am("robot", "--help")

    assert asked.code == 0
    assert asked.out.startswith("Usage: am robot")
    assert "Usage: am robot" in alone.out + alone.err


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        (
            {"AGENT_MAIL_AGENT_TOKEN": "amt_wrong"},
            "AGENT_MAIL_AGENT_TOKEN is not valid here.",
            "am token reissue AGENT",
        ),
        (
            {"AGENT_MAIL_AGENT_TOKEN": "amk_issued"},
            "AGENT_MAIL_AGENT_TOKEN is not valid here.",
            "Send a token that was issued (amk_…) in AGENT_MAIL_TOKEN instead.",
        ),
        ({"AGENT_MAIL_TOKEN": "wrong"}, "AGENT_MAIL_TOKEN is not valid here.", "am token reissue AGENT"),
        ({"AGENT_MAIL_TOKEN": "amk_wrong"}, "AGENT_MAIL_TOKEN is not valid at ", "am token create"),
    ],
    ids=str,
)
def test_a_wrong_token_is_told_by_the_setting_that_holds_it(
    settings: dict[str, str], message: str, hint: str, at_shell: Shell
) -> None:
    at_shell.unset("AGENT_MAIL_AGENT_TOKEN")
    at_shell.set(**settings)

    error = at_shell.am("robot", "whoami").json()["error"]

    assert error["message"].startswith(message)
    assert hint in error["hint"]
    assert "HTTP_BEARER_TOKEN" not in error["hint"]
    assert "X-Agent-Token" not in error["hint"]


def test_a_refusal_names_what_a_shell_has(at_shell: Shell, robot_post: RobotPost) -> None:
    at_shell.unset("AGENT_MAIL_AGENT_TOKEN")
    hints = {}
    with robot_post.served_with(AGENT_AUTH="strict"):
        hints["no token"] = at_shell.am("robot", "inbox").json()["error"]["hint"]
    at_shell.set(AGENT_NAME="NobodyHere")
    hints["unknown agent"] = at_shell.am("robot", "inbox").json()["error"]["hint"]
    at_shell.set(AGENT_NAME=AGENT, AGENT_MAIL_PROJECT=str(at_shell.home / "nowhere"))
    hints["unknown project"] = at_shell.am("robot", "inbox").json()["error"]["hint"]
    at_shell.set(AGENT_MAIL_PROJECT=robot_post.project)
    hints["unknown thread"] = at_shell.am("robot", "thread", "nowhere").json()["error"]["hint"]

    assert hints["no token"].startswith(f"Send {AGENT}'s registration_token in AGENT_MAIL_AGENT_TOKEN, or one that was")
    assert "register_agent (over MCP)" in hints["unknown agent"]
    assert "am projects ensure" in hints["unknown project"]
    assert "am robot inbox" in hints["unknown thread"]
    for hint in hints.values():
        assert "fetch_inbox" not in hint
        assert "ensure_project" not in hint
        assert "resource://" not in hint


def test_calls_that_only_mcp_can_make_are_not_suggested(shell: Shell) -> None:
    data = {"suggested_tool_calls": [{"tool": "register_agent"}], "nearest": ["BlueLake"]}
    refused = {"type": "NOT_FOUND", "message": "No.", "hint": "fetch_inbox, or search_messages.", "data": data}
    with ScriptedServer(answer({"error": refused}, status=404)) as server:
        shell.set(AGENT_MAIL_URL=server.url, AGENT_NAME=AGENT)
        error = shell.am("robot", "inbox").json()["error"]

    assert error["hint"] == "am robot inbox, or am robot search."
    assert error["data"] == {"nearest": ["BlueLake"]}


def test_an_argument_that_is_no_text_is_misuse(shell: Shell) -> None:
    done = shell.am("robot", "search", "caf\udce9")

    assert told(done) == (2, "USAGE")
    assert done.json()["error"]["message"] == r"Argument 3 is not UTF-8: caf\xe9"
