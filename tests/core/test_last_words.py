"""What a process says as it ends, also where nobody reads it."""

from __future__ import annotations

import os
import sys

import pytest

from mcp_agent_mail.core.last_words import say_last

FAR_TOO_MUCH = "x" * 1_000_000


def test_what_finds_room_is_said_and_a_full_pipe_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as errors, os.fdopen(reader) as said:
        monkeypatch.setattr(sys, "stderr", errors)
        say_last("the end\n")
        say_last(FAR_TOO_MUCH)
        errors.close()

        text = said.read()

    assert text.startswith("the end\nxxx")
    assert len(text) < len(FAR_TOO_MUCH)


def test_without_a_standard_error_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)

    say_last("the end")
