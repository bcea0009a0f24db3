from __future__ import annotations

import pytest

from mcp_agent_mail.cli.agentmail.prompt import is_free

BOX = ["done.", "╭──────────────╮", "│ > {}          │", "╰──────────────╯", "  ? for shortcuts", ""]


def _boxed(text: str) -> list[str]:
    return [line.replace("{}", text) for line in BOX]


@pytest.mark.parametrize(
    ("lines", "x", "y"),
    [
        (_boxed(""), 0, 5),
        (_boxed('\x1b[2mTry "fix lint errors"\x1b[22m'), 0, 5),
        (_boxed('\x1b[38;2;2;2;2m\x1b[2mTry "fix"\x1b[0m'), 0, 5),
        (["\u276f ", ""], 2, 0),
        (["\x1b[1m\u203a\x1b[0m ", "  model  ~/app"], 2, 0),
        (["user@host:~/app$ "], 17, 0),
        (["\x1b[32muser@host\x1b[0m:~/app$ "], 17, 0),
        (["~/app % "], 8, 0),
        (["root# "], 6, 0),
        (["some output", ""], 0, 1),
        (["", "", ""], 0, 0),
    ],
)
def test_an_empty_prompt_is_free(lines: list[str], x: int, y: int) -> None:
    assert is_free(lines, x, y)


@pytest.mark.parametrize(
    ("lines", "x", "y"),
    [
        (_boxed("half a thought"), 0, 5),
        (_boxed("\x1b[2mhint\x1b[22m and more"), 0, 5),
        (["\u276f git com"], 9, 0),
        (["> old prompt", "answer", "> new draft"], 11, 2),
        (["user@host:~/app$ ls"], 19, 0),
        (["user@host:~/app$ ls > "], 22, 0),
        (["user@host:~/app$ ls"], 17, 0),
        (["typed into cat"], 14, 0),
    ],
)
def test_what_stands_in_a_prompt_keeps_others_out(lines: list[str], x: int, y: int) -> None:
    assert not is_free(lines, x, y)


def test_the_last_prompt_counts_and_those_far_above_do_not() -> None:
    assert is_free(["> old text", "answer", "> "], 2, 2)
    assert is_free(["> old text", *["line"] * 20, ""], 0, 21)
