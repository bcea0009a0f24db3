from __future__ import annotations

import io
import sys

import pytest

from mcp_agent_mail.cli.exit_codes import (
    BadSettings,
    ExitCode,
    Misread,
    NoServer,
    WireError,
    code_of,
    tell_error,
    tell_hint,
)
from mcp_agent_mail.core.errors import AgentMailError, NotFound


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NoServer("x"), ExitCode.UNAVAILABLE),
        (BadSettings("x"), ExitCode.CONFIG),
        (Misread("x"), ExitCode.SOFTWARE),
        (NotFound("x"), ExitCode.REFUSED),
        (WireError({"type": "UNAVAILABLE"}), ExitCode.UNAVAILABLE),
        (WireError({"type": "NOT_FOUND"}), ExitCode.REFUSED),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_errors_code_decides_the_exit_code(error: AgentMailError, code: ExitCode) -> None:
    assert tell_error(error) == code


def test_an_error_is_told_as_fact_then_hint_and_cannot_drive_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    tell_error(NotFound("No agent \x1b[31mBlueLake.", hint="am agents list \u202e"))

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "Error (NOT_FOUND): No agent \\x1b[31mBlueLake.\nHint: am agents list \\u202e\n"


def test_a_code_that_came_over_the_wire_cannot_drive_a_terminal_either(capsys: pytest.CaptureFixture[str]) -> None:
    tell_error(WireError({"type": "\x1b[2J\nError", "message": "No."}))
    tell_error(WireError({"type": "A" * 1_000, "message": "No."}))

    cleared, long = capsys.readouterr().err.splitlines()
    assert cleared == "Error (\\x1b[2J Error): No."
    assert len(long) < 250


def test_an_error_without_a_hint_has_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    tell_error(NotFound("No agent.", hint=""))

    assert capsys.readouterr().err == "Error (NOT_FOUND): No agent.\n"


def test_a_refusal_over_the_wire_keeps_the_servers_words() -> None:
    refusal = WireError({"type": "QUOTA_EXCEEDED", "message": "Full.", "hint": "Read.", "data": {"limit": 1}})

    assert code_of(refusal) == "QUOTA_EXCEEDED"
    assert (refusal.message, refusal.hint, refusal.data) == ("Full.", "Read.", {"limit": 1})


def test_a_refusal_without_words_is_one_all_the_same() -> None:
    refusal = WireError({"data": ["no", "object"]})

    assert code_of(refusal) == "INTERNAL"
    assert (refusal.message, refusal.hint, refusal.data) == ("The server refused without a reason.", "", {})


def test_what_could_not_be_made_sense_of_is_named_in_part() -> None:
    misread = Misread.because(KeyError("x" * 1_000))

    assert "(KeyError: 'xxx" in misread.message
    assert len(misread.message) < 300
    assert code_of(misread) == "INTERNAL"


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_fact_and_hint_are_folded_and_lines_of_their_own_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys, "stderr", screen := _Screen())

    tell_error(NotFound("word " * 5 + "here:\n  one", hint="Call " + "again " * 6))

    assert screen.getvalue().splitlines() == [
        "Error (NOT_FOUND): word word",
        "          word word word here:",
        "  one",
        "Hint: Call again again again",
        "      again again again",
    ]


def test_a_refusal_that_came_over_the_wire_can_be_given_another_next_step() -> None:
    refused = WireError({"type": "NOT_FOUND", "message": "No.", "hint": "Look.", "data": {"id": 7}})

    other = refused.reworded(hint="Look elsewhere.", data=refused.data)

    assert (code_of(other), other.message, other.hint, other.data) == ("NOT_FOUND", "No.", "Look elsewhere.", {"id": 7})
    assert refused.hint == "Look."


def test_a_next_step_is_told_in_commands_and_none_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    tell_hint("Call list_agents.")
    tell_hint(None)

    assert capsys.readouterr().err == "Hint: Call am agents list.\n"
