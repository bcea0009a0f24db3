"""`am hook` beside the real server: what it tells, what senders then see, and who may ask."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.hook_program import HookHome
from tests.served import Connection, Served


@pytest.fixture
def home(tmp_path: Path) -> HookHome:
    return HookHome(tmp_path, {"AGENT_NAME": "BlueLake", "STORAGE_ROOT": str(tmp_path.resolve() / "store")})


@pytest.fixture
def connection(home: HookHome) -> Iterator[Connection]:
    with Served(home.root / "store") as server, server.connect() as connection:
        connection.call("ensure_project", human_key=str(home.code))
        for name in ("BlueLake", "RedStone"):
            connection.call("register_agent", project_key=str(home.code), name=name, program="tests", model="none")
        yield connection


def _send(home: HookHome, connection: Connection, subject: str, **more: Any) -> int:
    sent = connection.call(
        "send_message",
        project_key=str(home.code),
        sender_name="RedStone",
        to=["BlueLake"],
        subject=subject,
        body_md=f"Body of {subject}.\nMore.",
        **more,
    )
    number: int = sent["deliveries"][0]["payload"]["id"] if "deliveries" in sent else sent["id"]
    return number


def _status(home: HookHome, connection: Connection, number: int) -> str:
    found = connection.call("message_status", project_key=str(home.code), agent_name="RedStone", message_id=number)
    status: str = found["recipients"][0]["status"]
    return status


def _context(home: HookHome, event: str, **more: Any) -> str:
    done = home.run("claude", event, home.payload("claude", event, **more))
    assert (done.returncode, done.stderr) == (0, b"")
    if not done.stdout:
        return ""
    printed = json.loads(done.stdout)
    said: str = printed.get("reason") or printed["hookSpecificOutput"].get("additionalContext") or str(printed)
    return said


def test_mail_comes_at_its_slot_once_and_its_sender_sees_that(home: HookHome, connection: Connection) -> None:
    sent = {one: _send(home, connection, one, importance=one) for one in ("normal", "high", "urgent")}

    after_tool, again = _context(home, "PostToolUse"), _context(home, "PostToolUse")
    handed = {one: _status(home, connection, number) for one, number in sent.items()}
    at_end, at_turn, next_turn = (_context(home, event) for event in ("Stop", "UserPromptSubmit", "UserPromptSubmit"))

    assert "> subject: urgent" in after_tool
    assert "> subject: high" not in after_tool
    assert again == ""
    assert (handed["normal"], handed["high"]) == ("delivered", "delivered")
    assert handed["urgent"] in ("handed_over", "shown")
    assert "> subject: high" in at_end
    assert "> subject: normal" in at_turn
    assert "> text: Body of normal." in at_turn
    assert next_turn == ""


def test_a_stop_by_topic_refuses_one_call(home: HookHome, connection: Connection) -> None:
    _send(home, connection, "wrong branch", importance="urgent", topic="stop")

    refused, allowed = _context(home, "PreToolUse"), _context(home, "PreToolUse")

    assert "RedStone" in refused
    assert "> subject: wrong branch" in refused
    assert allowed == ""


def test_a_start_says_who_the_agent_is_and_what_it_holds(home: HookHome, connection: Connection) -> None:
    key = str(home.code)
    _send(home, connection, "please confirm", ack_required=True)
    connection.call("file_reservation_paths", project_key=key, agent_name="BlueLake", paths=["src/**"])

    told = _context(home, "SessionStart", source="compact")

    assert told.startswith("Agent mail: you are BlueLake, 1 unread.")
    assert "> src/** until 20" in told
    assert "> subject: please confirm" in told
    assert "RedStone" in told
    assert len(told.encode()) <= 1_100


_CALL = re.compile(r"(\w+)\(([^()]*)\)")


def _advised(words: str) -> list[tuple[str, dict[str, Any]]]:
    """The calls in our own lines, with their arguments as they are written."""
    ours = "\n".join(line for line in words.split("\n") if not line.startswith("> "))
    found = []
    for tool, arguments in _CALL.findall(ours):
        if "=" in arguments:
            values = re.sub(r"(\w+)=", r'"\1":', arguments)
            found.append((tool, json.loads(f"{{{values}}}")))
    return found


def test_each_call_that_is_advised_works_as_it_is_written(home: HookHome, connection: Connection) -> None:
    """The entry that setup writes says neither the project nor the name."""
    number = _send(home, connection, "please confirm", ack_required=True)
    again = _context(home, "SessionStart", source="compact").replace("message_id=…", f"message_id={number}")
    told = _context(home, "UserPromptSubmit")
    _send(home, connection, "wrong branch", importance="urgent", topic="stop")
    refused = _context(home, "PreToolUse")

    calls = [call for words in (again, told, refused) for call in _advised(words)]

    assert [tool for tool, _ in calls].count("fetch_inbox") == 3
    assert [tool for tool, _ in calls].count("acknowledge_message") >= 1
    for tool, arguments in calls:
        connection.call(tool, **arguments)


def test_an_edit_of_what_another_agent_holds_is_refused(home: HookHome, connection: Connection) -> None:
    connection.call("file_reservation_paths", project_key=str(home.code), agent_name="RedStone", paths=["src/**"])

    refused = _context(home, "PreToolUse")
    elsewhere = home.payload("claude", "PreToolUse", file="README.md")

    assert "edit refused: 1 path is held by another agent." in refused
    assert "This was read from the server." in refused
    assert home.run("claude", "PreToolUse", elsewhere).stdout == b""


def test_how_a_session_without_a_name_is_told_to_register_works_as_it_is_written(
    home: HookHome, connection: Connection
) -> None:
    del home.settings["AGENT_NAME"]

    ((tool, arguments),) = _advised(_context(home, "SessionStart"))

    assert (tool, arguments["human_key"]) == ("macro_start_session", str(home.code))
    assert connection.call(tool, **arguments)["agent"]["name"]


@pytest.mark.usefixtures("connection")
def test_nobody_is_told_how_to_register_in_a_known_project_alone(home: HookHome) -> None:
    del home.settings["AGENT_NAME"]
    elsewhere = home.root / "elsewhere"
    elsewhere.mkdir()

    known = home.run("claude", "SessionStart")
    unknown = home.run("claude", "SessionStart", home.payload("claude", "SessionStart", cwd=str(elsewhere)))

    assert b"macro_start_session" in known.stdout
    assert unknown.stdout == b""


def test_a_hook_is_a_heartbeat(home: HookHome, connection: Connection) -> None:
    before = connection.call("whois", project_key=str(home.code), agent_name="BlueLake")
    _context(home, "UserPromptSubmit")
    after = connection.call("whois", project_key=str(home.code), agent_name="BlueLake")

    assert before["listening"] is False
    assert (after["listening"], after["listening_via"]) == (True, "hook")


@pytest.mark.parametrize("proof", ["operator", "agent", "none", "wrong"])
def test_under_strict_the_operator_of_this_machine_or_the_agents_token_may_ask(proof: str, home: HookHome) -> None:
    with Served(home.root / "store", AGENT_AUTH="strict") as server, server.connect() as connection:
        connection.call("ensure_project", human_key=str(home.code))
        tokens = {}
        for name in ("BlueLake", "RedStone"):
            made = connection.call("register_agent", project_key=str(home.code), name=name, program="t", model="n")
            tokens[name] = made["registration_token"]
        sent = connection.rpc(
            "send_message",
            {
                "project_key": str(home.code),
                "sender_name": "RedStone",
                "to": ["BlueLake"],
                "subject": "s",
                "body_md": "b",
            },
            **{"X-Agent-Token": tokens["RedStone"]},
        )
        assert sent.status == 200
        if proof != "operator":
            home.settings["AGENT_MAIL_URL"] = f"http://127.0.0.1:{server.port}"
        if proof == "agent":
            home.settings["AGENT_MAIL_AGENT_TOKEN"] = tokens["BlueLake"]
        if proof == "wrong":
            home.settings["AGENT_MAIL_AGENT_TOKEN"] = tokens["RedStone"]

        told = _context(home, "UserPromptSubmit")

    assert ("> subject: s" in told) == (proof in ("operator", "agent"))


@pytest.mark.usefixtures("connection")
def test_a_server_that_has_stopped_is_silence(home: HookHome) -> None:
    home.settings["STORAGE_ROOT"] = str(home.root / "no-store")
    home.settings["HTTP_PORT"] = "1"

    assert [_context(home, event) for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop")] == [""] * 4


def test_a_window_is_who_registered_from_it(home: HookHome, connection: Connection) -> None:
    del home.settings["AGENT_NAME"]
    window = "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"
    registering = {"project_key": str(home.code), "program": "tests", "model": "none"}
    mine = connection.rpc("register_agent", registering, **{"X-Agent-Window": window}).value["name"]
    message = {"project_key": str(home.code), "sender_name": "RedStone", "subject": "to the window", "body_md": "b"}
    connection.call("send_message", to=[mine], **message)

    told = home.run("claude", "UserPromptSubmit", MCP_AGENT_MAIL_WINDOW_ID=window)

    assert b"> subject: to the window" in told.stdout
