"""What is asked at which event, and what a session is told when."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.hook.run import MAX_CONTINUED
from tests.clients.golden_outputs import REPRIME, STOP
from tests.clients.hook_program import HookHome
from tests.clients.hook_server import NOTHING, HookAnswers, given, hook_server, message


@pytest.fixture
def answers() -> Iterator[HookAnswers]:
    with hook_server() as answers:
        answers.only_asked = True
        yield answers


@pytest.fixture
def home(tmp_path: Path, answers: HookAnswers) -> HookHome:
    return HookHome(tmp_path, {"AGENT_NAME": "BlueLake", "AGENT_MAIL_URL": answers.url})


def _state(home: HookHome, name: str = "claude-s-1") -> dict[str, Any]:
    state: dict[str, Any] = json.loads((home.states / f"{name}.json").read_text())
    return state


def _change_state(home: HookHome, **values: Any) -> None:
    (home.states / "claude-s-1.json").write_text(json.dumps({**_state(home), **values}))


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
    _change_state(home, said_at=time.time() + 86_400)
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
        state = _state(home)
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


def _registered(name: str = "GreenHill") -> dict[str, Any]:
    return {"id": 3, "name": name, "program": "claude-code", "model": "m", "task_description": ""}


def _as_blocks(result: dict[str, Any]) -> list[dict[str, str]]:
    return [{"type": "text", "text": json.dumps(result)}]


def test_a_session_is_whom_it_registered_as(home: HookHome, answers: HookAnswers) -> None:
    del home.settings["AGENT_NAME"]
    package = str(home.code / "package")
    called = {
        "tool_name": "mcp__agent-mail__register_agent",
        "tool_input": {"project_key": package},
        "tool_response": _as_blocks(_registered()),
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
    result = {contract["result"][0][0]: json.dumps(_registered())}

    home.play(client, event, home.payload(client, event, **called, **result))

    assert answers.bodies("/event") == []


def test_a_subagents_registration_is_not_the_sessions(home: HookHome, answers: HookAnswers) -> None:
    del home.settings["AGENT_NAME"]
    called = {
        "agent_id": "sub-1",
        "tool_name": "mcp__agent-mail__register_agent",
        "tool_input": {"project_key": str(home.code)},
        "tool_response": _as_blocks(_registered()),
    }

    home.play("claude", "PostToolUse", home.payload("claude", "PostToolUse", **called))
    home.play("claude", "UserPromptSubmit")

    assert answers.bodies("/event") == []


def test_without_a_session_there_is_no_mail(home: HookHome, answers: HookAnswers) -> None:
    value = home.payload("claude", "UserPromptSubmit")
    del value["session_id"]

    assert home.play("claude", "UserPromptSubmit", value) == ""
    assert answers.asked == []


# --- Re-prime ---


def test_a_session_is_reprimed_once_per_compaction(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(reprime=REPRIME, unread=2)
    compacted = home.payload("claude", "SessionStart", source="compact")

    told = [home.play("claude", "SessionStart", compacted) for _ in range(2)]

    assert ["you are BlueLake" in one for one in told] == [True, False]


def test_a_clock_that_was_set_back_silences_no_reprime(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(reprime=REPRIME, unread=2)
    resumed = home.payload("claude", "SessionStart", source="resume")
    home.play("claude", "SessionStart", resumed)
    _change_state(home, reprimed=["resume", time.time() + 86_400])

    told = [home.play("claude", "SessionStart", resumed) for _ in range(2)]

    assert ["you are BlueLake" in one for one in told] == [True, False]


def test_another_start_is_another_reprime(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(reprime=REPRIME, unread=2)

    told = [
        home.play("codex", "SessionStart", home.payload("codex", "SessionStart", source=one))
        for one in ("startup", "compact")
    ]

    assert ["you are BlueLake" in one for one in told] == [True, True]


@pytest.mark.parametrize(
    ("client", "compaction", "turn"),
    [
        ("gemini", "PreCompress", "BeforeAgent"),
        ("cline", "PreCompact", "UserPromptSubmit"),
        ("opencode", "compact", "turn"),
        ("copilot", "preCompact", "postToolUse"),
    ],
)
def test_where_nothing_follows_a_compaction_the_next_slot_reprimes(
    client: str, compaction: str, turn: str, home: HookHome, answers: HookAnswers
) -> None:
    answers.event = given(message(1), reprime=REPRIME, unread=2)

    told = [home.play(client, event) for event in (turn, compaction, turn, turn)]

    assert ["you are BlueLake" in one for one in told] == [False, False, True, False]
    assert "#1 from RedStone" in told[2]
    assert answers.bodies("/event")[2]["limit"] == 1


_LONG_REPRIME = {
    **REPRIME,
    "leases": [
        {"path_pattern": f"src/{'x' * 60}{number}", "expires_ts": "2100-01-01T00:00:00Z"} for number in range(5)
    ],
    "to_acknowledge": [{"id": number, "from": "RedStone", "subject": "s" * 70} for number in range(4)],
}
_LONG_MESSAGE = message(1, importance="urgent", subject="s" * 140, first_line="t" * 170, ack_required=True)


def test_a_long_reprime_cuts_off_no_mail_that_is_confirmed_with_it(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(_LONG_MESSAGE, reprime=_LONG_REPRIME, unread=2)
    home.play("gemini", "PreCompress")

    told = json.loads(home.play("gemini", "BeforeAgent"))["hookSpecificOutput"]["additionalContext"]

    assert len(told.encode()) <= 1_536
    assert told.startswith("Agent mail: you are BlueLake")
    assert told.split("\n")[-2] == f"> text: {'t' * 170}"
    assert "acknowledge_message(" in told.split("\n")[-1]
    assert len(answers.bodies("/told")) == 1


def test_beside_what_a_session_hears_of_its_name_it_cuts_off_none_either(home: HookHome, answers: HookAnswers) -> None:
    answers.event = {"error": {"type": "UNAVAILABLE", "message": "soon"}}
    home.play("claude", "SessionStart")
    answers.event = given(_LONG_MESSAGE, reprime=_LONG_REPRIME, unread=2)
    called = {
        "tool_name": "mcp__agent-mail__register_agent",
        "tool_input": {"project_key": str(home.code)},
        "tool_response": _as_blocks(_registered()),
    }

    printed = home.play("claude", "PostToolUse", home.payload("claude", "PostToolUse", **called))

    told = json.loads(printed)["hookSpecificOutput"]["additionalContext"]
    assert "you registered as GreenHill" in told.split("\n")[0]
    assert told.split("\n")[1].startswith("Agent mail: you are BlueLake")
    assert told.split("\n")[-2] == f"> text: {'t' * 170}"
    assert "acknowledge_message(" in told.split("\n")[-1]


def test_a_reprime_that_no_server_gave_is_made_up_for(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(reprime=REPRIME, unread=2)
    home.play("gemini", "PreCompress")

    told = [
        home.play("gemini", "BeforeAgent", AGENT_MAIL_URL="http://127.0.0.1:1"),
        home.play("gemini", "BeforeAgent"),
    ]

    assert ["you are BlueLake" in one for one in told] == [False, True]


@pytest.mark.parametrize(("client", "start"), [("claude", "SessionStart"), ("cursor", "sessionStart")])
@pytest.mark.parametrize("how", ["no server", "not flushed", "refused"])
def test_a_session_that_heard_nothing_at_its_start_hears_who_it_is_at_its_next_slot(
    client: str, start: str, how: str, home: HookHome, answers: HookAnswers
) -> None:
    turn = {"claude": "UserPromptSubmit", "cursor": "postToolUse"}[client]
    answers.event = given(reprime=REPRIME, unread=2)
    if how == "no server":
        home.play(client, start, AGENT_MAIL_URL="http://127.0.0.1:1")
    elif how == "not flushed":
        home.play(client, start, is_flushed=False)
    else:
        answers.event = {"error": {"type": "UNAVAILABLE", "message": "soon"}}
        home.play(client, start)
        answers.event = given(reprime=REPRIME, unread=2)

    told = [home.play(client, turn) for _ in range(2)]

    assert ["you are BlueLake" in one for one in told] == [True, False]


def test_a_start_that_is_killed_is_made_up_for(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(reprime=REPRIME, unread=2)
    home.reply("claude", "SessionStart")

    assert "you are BlueLake" in home.play("claude", "UserPromptSubmit")


@pytest.mark.parametrize(
    ("client", "events"),
    [
        ("claude", ("SessionStart", "UserPromptSubmit", "UserPromptSubmit")),
        ("claude", ("SessionStart", "UserPromptSubmit", "PostToolUse")),
        ("gemini", ("PreCompress", "BeforeAgent", "BeforeAgent")),
        ("gemini", ("PreCompress", "BeforeAgent", "AfterTool")),
        ("droid", ("PreCompact", "UserPromptSubmit", "UserPromptSubmit")),
        ("copilot", ("preCompact", "postToolUse", "postToolUse")),
    ],
)
def test_a_reprime_is_owed_until_it_is_printed_however_often_a_hook_is_killed(
    client: str, events: tuple[str, str, str], home: HookHome, answers: HookAnswers
) -> None:
    answers.event = given(message(1), reprime=REPRIME, unread=2)
    for event in events[:2]:
        value = home.payload(client, event, **({"source": "compact"} if event == "SessionStart" else {}))
        home.reply(client, event, value)

    told = [home.play(client, events[2]) for _ in range(2)]

    assert ["you are BlueLake" in one for one in told] == [True, False]


def test_a_start_that_said_nothing_is_no_start_that_the_next_one_repeats(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(reprime=REPRIME, unread=2)
    home.play("claude", "SessionStart", AGENT_MAIL_URL="http://127.0.0.1:1")

    assert "you are BlueLake" in home.play("claude", "SessionStart")


# --- The server's no ---


@pytest.mark.parametrize("kind", ["NOT_FOUND", "PERMISSION_DENIED", "UNAVAILABLE"])
def test_a_refusal_is_silence(kind: str, home: HookHome, answers: HookAnswers) -> None:
    answers.event = {"error": {"type": kind, "message": "no"}}

    assert home.play("claude", "UserPromptSubmit") == ""
    assert _state(home)["asking"] == []


def test_the_file_of_a_session_goes_with_it(home: HookHome) -> None:
    home.play("claude", "UserPromptSubmit")
    assert (home.states / "claude-s-1.json").exists()

    home.play("claude", "SessionEnd")

    assert not (home.states / "claude-s-1.json").exists()
