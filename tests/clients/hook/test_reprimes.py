"""When a session is told anew who it is, and that it is owed until it was printed."""

from __future__ import annotations

import json
import time

import pytest

from tests.clients.golden_outputs import REPRIME
from tests.clients.hook_program import HookHome, as_blocks, registered
from tests.clients.hook_server import HookAnswers, given, message


def test_a_session_is_reprimed_once_per_compaction(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(reprime=REPRIME, unread=2)
    compacted = home.payload("claude", "SessionStart", source="compact")

    told = [home.play("claude", "SessionStart", compacted) for _ in range(2)]

    assert ["you are BlueLake" in one for one in told] == [True, False]


def test_a_clock_that_was_set_back_silences_no_reprime(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(reprime=REPRIME, unread=2)
    resumed = home.payload("claude", "SessionStart", source="resume")
    home.play("claude", "SessionStart", resumed)
    home.change_state(reprimed=["resume", time.time() + 86_400])

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
        "tool_response": as_blocks(registered()),
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
