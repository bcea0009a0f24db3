from __future__ import annotations

import io
import sys

import pytest
import typer

from mcp_agent_mail.cli.commands.send import body_text, subject_from


@pytest.mark.parametrize(
    ("text", "subject"), [("\n# Plan\nrest", "Plan"), ("", ""), ("x" * 200, "x" * 100), ("\n \n", "")]
)
def test_the_first_line_that_says_something_is_the_subject(text: str, subject: str) -> None:
    assert subject_from(text) == subject


def test_a_text_that_is_given_is_taken_as_it_is() -> None:
    assert body_text(" a\n") == " a\n"
    assert body_text("") == ""


@pytest.mark.parametrize("said", [b"", b" \n"])
def test_a_script_that_forgot_the_text_sends_none(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said)))
    with pytest.raises(typer.BadParameter, match="Standard input is empty"):
        body_text(None)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said)))
    assert body_text("-") == said.decode()
