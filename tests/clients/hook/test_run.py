"""What is asked at which event, and what a session is told when."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.hook.run import MAX_CONTINUED
from tests.clients.golden_outputs import REPRIME, STOP
from tests.clients.hook_program import HookHome, as_blocks, registered
from tests.clients.hook_server import NOTHING, HookAnswers, given, message


def _unread(count: int) -> dict[str, Any]:
    return {**NOTHING, "unread": count}


def test_each_slot_asks_for_its_own_importance(home: HookHome, answers: HookAnswers) -> None:
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")
    for event in events:
        home.play("claude", event)

    assert [(one["event"], one["least"], one["stop"], one["reprime"]) for one in answers.bodies("/event")] == [
        ("start", None, False, True),
        ("turn", "any", False, False),
        ("tool", None, True, False),
        ("tool", "urgent", False, False),
        ("idle", "high", False, False),
        ("end", None, False, False),
    ]
    assert {one["session"] for one in answers.bodies("/event")} == {"claude-s-1"}
    assert {one["subagent"] for one in answers.bodies("/event")} == {False}
    assert {(one["project_key"], one["agent_name"]) for one in answers.bodies("/event")} == {
        (str(home.code), "BlueLake")
    }


@pytest.mark.parametrize("client", ["claude", "codex", "cursor", "opencode", "copilot", "droid", "amp"])
def test_a_subagent_is_told_nothing_and_stopped_by_nothing(client: str, home: HookHome, answers: HookAnswers) -> None:
    from tests.clients.payloads import subagents

    answers.event = given(message(1), stop=STOP, reprime=REPRIME)
    for event in read_contract(client)["events"]:
        home.play(client, event, subagents(client, event, str(home.code)))

    asked = answers.bodies("/event")
    assert asked != []
    assert {(one["least"], one["stop"], one["reprime"]) for one in asked} == {(None, False, False)}
    assert {one["subagent"] for one in asked} == {True}


def test_a_stop_refuses_the_call_and_is_confirmed(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(stop=STOP)

    printed = json.loads(home.play("claude", "PreToolUse"))

    reason = printed["hookSpecificOutput"]["permissionDecisionReason"]
    assert "> text: Stop at once. The branch is wrong." in reason.split("\n")
    assert answers.bodies("/told")[0]["claim"] == "claim-1"


def test_a_turn_that_goes_on_by_itself_is_continued_so_often_and_no_more(home: HookHome, answers: HookAnswers) -> None:
    for number in range(1, MAX_CONTINUED + 3):
        answers.event = given(message(number, importance="high"))
        home.play("claude", "Stop", home.payload("claude", "Stop", stop_hook_active=number > 1))

    assert [one["least"] for one in answers.bodies("/event")] == ["high"] * MAX_CONTINUED + [None] * 2

    home.play("claude", "UserPromptSubmit")
    home.play("claude", "Stop", home.payload("claude", "Stop", stop_hook_active=True))

    assert answers.bodies("/event")[-1]["least"] == "high"


def test_cursors_count_of_loops_is_such_a_flag(home: HookHome, answers: HookAnswers) -> None:
    for number in range(MAX_CONTINUED + 1):
        answers.event = given(message(number + 1, importance="high"))
        home.play("cursor", "stop", home.payload("cursor", "stop", loop_count=number))

    assert [one["least"] for one in answers.bodies("/event")] == ["any"] * MAX_CONTINUED + [None]


@pytest.mark.parametrize("client", CLIENTS)
def test_every_event_says_that_the_session_can_be_refused_a_call(
    client: str, home: HookHome, answers: HookAnswers
) -> None:
    for event in read_contract(client)["events"]:
        home.play(client, event)

    assert {one["can_refuse"] for one in answers.bodies("/event")} == {True}


def test_a_stop_is_not_spent_on_the_call_by_which_it_is_read(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(stop=STOP)
    reading = home.payload("claude", "PreToolUse", tool_name="mcp__agent-mail__fetch_inbox", tool_input={})

    printed = [home.play("claude", "PreToolUse", reading), home.play("claude", "PreToolUse")]

    assert [one["stop"] for one in answers.bodies("/event")] == [False, True]
    assert printed[0] == ""
    reason = json.loads(printed[1])["hookSpecificOutput"]["permissionDecisionReason"]
    who = f'project_key="{home.code}", agent_name="BlueLake"'
    assert f"fetch_inbox({who}, unread_only=true, include_bodies=true)" in reason


# --- Counts ---


def test_a_count_is_said_once_and_again_when_it_changed(home: HookHome, answers: HookAnswers) -> None:
    home.settings["AGENT_MAIL_INTERVAL"] = "0"
    said = []
    for unread in (2, 2, 3, 3, 0, 3):
        answers.event = _unread(unread)
        said.append(home.play("claude", "UserPromptSubmit"))

    assert ["unread" in one for one in said] == [True, False, True, False, False, True]


def test_a_count_that_changed_waits_for_the_interval(home: HookHome, answers: HookAnswers) -> None:
    said = []
    for unread in (2, 3):
        answers.event = _unread(unread)
        said.append(home.play("claude", "UserPromptSubmit"))

    assert ["unread" in one for one in said] == [True, False]


def test_a_clock_that_was_set_back_silences_no_count(home: HookHome, answers: HookAnswers) -> None:
    answers.event = _unread(2)
    home.play("claude", "UserPromptSubmit")
    home.change_state(said_at=time.time() + 86_400)
    answers.event = _unread(3)

    assert "BlueLake has 3 unread" in home.play("claude", "UserPromptSubmit")


def test_a_count_alone_keeps_no_turn_going_and_follows_no_tool(home: HookHome, answers: HookAnswers) -> None:
    answers.event = _unread(5)

    assert [home.play("claude", event) for event in ("PostToolUse", "Stop")] == ["", ""]
    assert home.play("cursor", "stop") == "{}\n"


@pytest.mark.parametrize("how", ["cut off", "not flushed", "hung"])
def test_what_was_given_and_not_printed_is_counted_at_the_next_turn(
    how: str, home: HookHome, answers: HookAnswers
) -> None:
    answers.event = given(message(1), unread=1)
    home.play("claude", "UserPromptSubmit")
    answers.event = given(message(2), unread=1)
    if how == "cut off":
        home.reply("claude", "UserPromptSubmit")
        state = home.state()
        state["asking"] = [[one[0], one[1] - 60] for one in state["asking"]]  # Its process is long gone.
        (home.states / "claude-s-1.json").write_text(json.dumps(state))
    elif how == "not flushed":
        home.play("claude", "UserPromptSubmit", is_flushed=False)
    else:
        home.is_patient, answers.is_hung = False, True
        home.play("claude", "UserPromptSubmit")
        home.is_patient, answers.is_hung = True, False
    answers.event = _unread(1)

    said = [home.play("claude", "UserPromptSubmit") for _ in range(2)]

    assert ["BlueLake has 1 unread message" in one for one in said] == [True, False]


def test_a_run_at_work_beside_this_one_is_not_taken_for_cut_off(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(message(1), unread=1)
    home.play("claude", "UserPromptSubmit")
    home.reply("claude", "UserPromptSubmit")
    answers.event = _unread(1)

    assert home.play("claude", "UserPromptSubmit") == ""


# --- Who ---


def test_a_session_is_whom_it_registered_as(home: HookHome, answers: HookAnswers) -> None:
    del home.settings["AGENT_NAME"]
    package = str(home.code / "package")
    called = {
        "tool_name": "mcp__agent-mail__register_agent",
        "tool_input": {"project_key": package},
        "tool_response": as_blocks(registered()),
    }

    before = home.play("claude", "UserPromptSubmit")
    home.play("claude", "PostToolUse", home.payload("claude", "PostToolUse", **called))
    home.play("claude", "UserPromptSubmit")

    assert before == ""
    assert [(one["agent_name"], one["project_key"]) for one in answers.bodies("/event")] == [("GreenHill", package)] * 2


@pytest.mark.parametrize("client", ["claude", "cursor"])
def test_a_registration_in_another_project_is_not_the_sessions(
    client: str, home: HookHome, answers: HookAnswers
) -> None:
    """Cursor's tools are named without their server: any of them may answer so."""
    del home.settings["AGENT_NAME"]
    contract = read_contract(client)
    name = contract["mcp_tool"]["pattern"].replace("{server}", "agent-mail").replace("{tool}", "register_agent")
    called = {"tool_name": name, "tool_input": {"project_key": "/elsewhere"}}
    event = "PostToolUse" if client == "claude" else "postToolUse"
    result = {contract["result"][0][0]: json.dumps(registered())}

    home.play(client, event, home.payload(client, event, **called, **result))

    assert answers.bodies("/event") == []


def test_a_subagents_registration_is_not_the_sessions(home: HookHome, answers: HookAnswers) -> None:
    del home.settings["AGENT_NAME"]
    called = {
        "agent_id": "sub-1",
        "tool_name": "mcp__agent-mail__register_agent",
        "tool_input": {"project_key": str(home.code)},
        "tool_response": as_blocks(registered()),
    }

    home.play("claude", "PostToolUse", home.payload("claude", "PostToolUse", **called))
    home.play("claude", "UserPromptSubmit")

    assert answers.bodies("/event") == []


def test_without_a_session_there_is_no_mail(home: HookHome, answers: HookAnswers) -> None:
    value = home.payload("claude", "UserPromptSubmit")
    del value["session_id"]

    assert home.play("claude", "UserPromptSubmit", value) == ""
    assert answers.asked == []


# --- The server's no ---


@pytest.mark.parametrize("kind", ["NOT_FOUND", "PERMISSION_DENIED", "UNAVAILABLE"])
def test_a_refusal_is_silence(kind: str, home: HookHome, answers: HookAnswers) -> None:
    answers.event = {"error": {"type": kind, "message": "no"}}

    assert home.play("claude", "UserPromptSubmit") == ""
    assert home.state()["asking"] == []


def test_the_file_of_a_session_goes_with_it(home: HookHome) -> None:
    home.play("claude", "UserPromptSubmit")
    assert (home.states / "claude-s-1.json").exists()

    home.play("claude", "SessionEnd")

    assert not (home.states / "claude-s-1.json").exists()
