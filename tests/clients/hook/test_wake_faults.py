"""The watcher of an idle session where its server, its start or its end goes wrong: no mail is lost, none is early."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.hook import wake
from tests.clients.hook_program import HookHome
from tests.clients.hook_server import NOTHING, HookAnswers, given, hook_server, message
from tests.served import pause

WITHIN_S = 30.0
_HASTY = """
import sys
from mcp_agent_mail.clients.hook import entry, wake
wake.AGAIN_AFTER_S = (0.01,)
sys.exit(entry.main(["claude", "Stop", "--wake"]))
"""
BUSY = {"error": {"type": "BUSY", "message": "All places are taken.", "hint": "Soon.", "data": {"retry_after_s": 5}}}
UNKNOWN = {"error": {"type": "NOT_FOUND", "message": "No agent is called so.", "hint": "", "data": {}}}
ONE_UNREAD = {**NOTHING, "unread": 1}


def answered(status: int, value: Any) -> bytes:
    return b"HTTP/1.0 %d x\r\n\r\n%s" % (status, json.dumps(value).encode())


@pytest.fixture
def answers() -> Iterator[HookAnswers]:
    with hook_server() as answers:
        yield answers


@pytest.fixture
def home(tmp_path: Path, answers: HookAnswers) -> HookHome:
    return HookHome(tmp_path, {"AGENT_NAME": "BlueLake", "AGENT_MAIL_URL": answers.url, "AGENT_MAIL_INTERVAL": "0"})


@contextmanager
def watching(home: HookHome, command: list[str] | None = None, **more: object) -> Iterator[subprocess.Popen[str]]:
    """One that asks again at once, unless another command is given."""
    with subprocess.Popen(
        command or [sys.executable, "-c", _HASTY],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=home.environment(),
        cwd=home.code,
    ) as watcher:
        try:
            assert watcher.stdin is not None
            watcher.stdin.write(json.dumps({**home.payload("claude", "Stop"), **more}))
            watcher.stdin.close()
            watcher.stdin = None
            yield watcher
        finally:
            watcher.kill()


def until_asked(answers: HookAnswers, end: str, count: int = 1) -> None:
    deadline = time.monotonic() + WITHIN_S
    while len(answers.bodies(end)) < count:
        assert time.monotonic() < deadline
        pause()


def tell_one(home: HookHome, answers: HookAnswers) -> None:
    """In a turn, which has ended since."""
    answers.event = given(message(1))
    assert "#1 from" in home.play("claude", "UserPromptSubmit")
    answers.event = ONE_UNREAD
    home.play("claude", "Stop")


@pytest.mark.parametrize(
    ("answer", "is_lost"),
    [
        pytest.param(b"", True, id="no-answer"),
        pytest.param(answered(504, {"detail": "a gateway"}), True, id="gateway"),
        pytest.param(answered(200, [1]), True, id="a-stranger"),
        pytest.param(ONE_UNREAD, False, id="nothing"),
        pytest.param(UNKNOWN, False, id="refused"),
    ],
)
def test_what_may_have_been_given_to_a_watcher_is_counted_at_the_next_turn(
    answer: Any, is_lost: bool, home: HookHome, answers: HookAnswers
) -> None:
    """Also where the count is the one that was said last: one was told and read, another came."""
    tell_one(home, answers)
    answers.event, answers.position = answer, [{"next_cursor": 1}, UNKNOWN]
    asked = len(answers.asked)

    with watching(home):
        # Its position and its event; with the next question it has noted what the answer was, and gets no further.
        until_asked(answers, "", asked + 3)
    answers.event = ONE_UNREAD

    assert ("1 unread" in home.play("claude", "UserPromptSubmit")) == is_lost
    assert home.play("claude", "UserPromptSubmit") == ""


def test_what_a_killed_watcher_had_asked_for_is_counted_at_the_next_turn(home: HookHome, answers: HookAnswers) -> None:
    tell_one(home, answers)
    answers.event = None

    with watching(home) as watcher:
        until_asked(answers, "/event", len(answers.bodies("/event")) + 1)
        watcher.kill()
    answers.event = ONE_UNREAD

    assert "1 unread" in home.play("claude", "UserPromptSubmit")


def test_what_a_gateway_had_no_answer_for_is_counted_at_the_next_turn(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(message(1))
    assert "#1 from" in home.play("claude", "UserPromptSubmit")
    answers.event = answered(504, {"detail": "a gateway"})
    assert home.play("claude", "UserPromptSubmit") == ""
    answers.event = ONE_UNREAD

    assert "1 unread" in home.play("claude", "UserPromptSubmit")


@pytest.mark.parametrize(
    "answer",
    [
        answered(503, {"error": {"type": "UNAVAILABLE", "message": "The store is being mended."}}),
        answered(429, BUSY),
        answered(409, BUSY),
        answered(500, {"detail": "x"}),
    ],
    ids=["unavailable", "too-many", "later", "broken"],
)
def test_a_server_that_is_busy_for_long_is_outlived(answer: bytes, home: HookHome, answers: HookAnswers) -> None:
    answers.position = answer

    with watching(home) as watcher:
        until_asked(answers, "/fetch_inbox_events", 2 * wake.MOST_REFUSALS)
        answers.event, answers.position = given(message(1)), {"next_cursor": 1}
        _, err = watcher.communicate(timeout=WITHIN_S)

    assert watcher.returncode == wake.WOKEN
    assert "#1 from RedStone" in err


def test_a_refusal_that_waiting_does_not_change_ends_it(home: HookHome, answers: HookAnswers) -> None:
    answers.position = UNKNOWN

    with watching(home) as watcher:
        assert watcher.communicate(timeout=WITHIN_S)[1] == ""

    assert watcher.returncode == wake.SLEPT
    assert len(answers.bodies("/fetch_inbox_events")) == wake.MOST_REFUSALS


@pytest.mark.parametrize("goes_on", ["for-mail", "by-its-person"])
def test_one_that_starts_late_in_a_turn_waits_for_its_end(goes_on: str, home: HookHome, answers: HookAnswers) -> None:
    home.play("claude", "UserPromptSubmit")
    if goes_on == "for-mail":
        answers.event = given(message(1, importance="high"))
        assert "#1 from" in home.play("claude", "Stop")
    else:
        home.play("claude", "Stop")
        home.play("claude", "UserPromptSubmit")
    answers.event = dict(NOTHING)
    asked = len(answers.bodies("/event"))

    with watching(home) as watcher:
        until_asked(answers, "/fetch_inbox_events")
        time.sleep(wake.CHECK_EVERY_S)
        assert len(answers.bodies("/event")) == asked
        home.play("claude", "Stop")
        answers.event = given(message(2))
        _, err = watcher.communicate(timeout=WITHIN_S)

    assert watcher.returncode == wake.WOKEN
    assert "#2 from RedStone" in err


def test_one_that_waits_for_the_end_of_a_turn_does_it_no_longer_than_its_life(
    home: HookHome, answers: HookAnswers
) -> None:
    home.play("claude", "UserPromptSubmit")
    answers.event = given(message(1, importance="high"))
    assert "#1 from" in home.play("claude", "Stop")
    short_lived = [sys.executable, "-c", _HASTY.replace("sys.exit", "wake.LIFE_S = 3.0\nsys.exit")]

    with watching(home, short_lived) as watcher:
        until_asked(answers, "/fetch_inbox_events")
        assert watcher.communicate(timeout=WITHIN_S)[1] == ""

    assert watcher.returncode == wake.SLEPT


def test_ctrl_c_ends_it_in_silence(home: HookHome, answers: HookAnswers) -> None:
    with watching(home) as watcher:
        until_asked(answers, "/wait_for_messages")
        watcher.send_signal(signal.SIGINT)
        assert watcher.communicate(timeout=WITHIN_S)[1] == ""

    assert watcher.returncode == wake.SLEPT


@pytest.mark.parametrize("is_said", [True, False])
def test_one_whose_folder_is_gone_wakes_all_the_same(is_said: bool, home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(message(1))
    home.settings["AGENT_MAIL_PROJECT"] = str(home.code)
    gone = home.root / "gone"
    program = shlex.join([*home.command("claude", "Stop"), "--wake"])
    command = ["sh", "-c", f"mkdir {gone} && cd {gone} && rmdir {gone} && exec {program}"]

    with watching(home, command, cwd=str(gone) if is_said else None) as watcher:
        _, err = watcher.communicate(timeout=WITHIN_S)

    assert watcher.returncode == wake.WOKEN
    assert "#1 from RedStone" in err
