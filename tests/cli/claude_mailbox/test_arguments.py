from __future__ import annotations

import pytest

from mcp_agent_mail.cli.claude_mailbox.arguments import parse_flags
from mcp_agent_mail.cli.claude_mailbox.refusals import CommandRefused


def test_flags_have_their_value_behind_them_or_behind_a_sign() -> None:
    given = parse_flags(
        "x", ["--name", "a b", "--to=c=d", "--hook", "--url", "--x"], valued=("name", "to"), plain=("hook",)
    )

    assert given.values == {"name": "a b", "to": "c=d", "url": "--x"}
    assert given.plain == {"hook"}
    assert (given.find("name"), given.find("body")) == ("a b", None)


def test_the_last_of_a_repeated_flag_counts() -> None:
    assert parse_flags("x", ["--name", "a", "--name", "b"], valued=("name",)).require("name") == "b"


@pytest.mark.parametrize("words", [["name"], ["--nome", "a"], ["--hook=yes"], ["--name"], ["-name", "a"], ["--"]])
def test_anything_else_is_refused(words: list[str]) -> None:
    with pytest.raises(CommandRefused, match="claude-mailbox x: "):
        parse_flags("x", words, valued=("name",), plain=("hook",))


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("2.5", 2.5), ("1e2", 100)])
def test_a_number_is_one_that_is_not_below_zero(text: str, number: float) -> None:
    assert parse_flags("x", ["--timeout", text], valued=("timeout",)).number("timeout", 25) == number
    assert parse_flags("x", [], valued=("timeout",)).number("timeout", 25) == 25


@pytest.mark.parametrize("text", ["", "soon", "-1", "nan", "inf"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(CommandRefused, match="--timeout takes a number"):
        parse_flags("x", ["--timeout", text], valued=("timeout",)).number("timeout", 25)
