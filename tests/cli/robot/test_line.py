"""How an answer is brought into its bound: by items first, then by its longest texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.cli.robot.line import MAX_BYTES, RobotAnswer, Style, encode, fit, fit_value


def of(count: int, text: str, **more: Any) -> RobotAnswer:
    items = [{"id": number, "subject": text} for number in range(1, count + 1)]
    return RobotAnswer(facts={"agent": "BlueLake"}, name="messages", items=items, **more)


def test_what_fits_is_there_whole_and_on_one_line() -> None:
    text = fit(of(2, "two\nlines", total=2), "json")

    assert text.count("\n") == 1
    assert json.loads(text) == {
        "agent": "BlueLake",
        "messages": [{"id": 1, "subject": "two\nlines"}, {"id": 2, "subject": "two\nlines"}],
    }


@pytest.mark.parametrize("style", ["json", "toon"])
def test_as_many_items_as_fit_are_there_and_one_more_would_not(style: Style) -> None:
    answer = of(50, "é" * 40, total=70)

    text = fit(answer, style)

    shown = sum(f"{number}," in text or f'"id":{number},' in text for number in range(1, 51))
    whole = [number for number in range(51) if encode(answer.with_first(number), style) == text]
    assert whole
    assert shown >= whole[0] > 5
    assert len(text.encode()) <= MAX_BYTES
    assert len(encode(answer.with_first(whole[0] + 1), style).encode()) > MAX_BYTES


def test_more_counts_what_is_left_out_and_a_cursor_leads_on() -> None:
    found = json.loads(fit(of(50, "x" * 100, total=70, has_cursor=True), "json"))

    shown = found["messages"]
    assert found["more"] == 70 - len(shown)
    assert found["next_after_id"] == shown[-1]["id"]


@pytest.mark.parametrize("style", ["json", "toon"])
@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600", "\u202e", '"'])
def test_a_first_item_that_is_too_long_is_cut_and_says_so(letter: str, style: Style) -> None:
    text = fit(of(3, letter * 5_000, total=3), style)

    assert len(text.encode()) <= MAX_BYTES
    assert len(text.encode()) > MAX_BYTES // 2
    assert "…" in text
    assert "cut" in text
    assert "more" in text


def test_an_object_of_many_long_texts_fits_too() -> None:
    text = fit_value({f"key{number}": "word " * 100 for number in range(20)}, "json")

    assert len(text.encode()) <= MAX_BYTES
    assert json.loads(text)["cut"] is True


def test_nothing_that_a_terminal_would_obey_is_in_it() -> None:
    texts = [fit(of(1, "\x1b[31mred\u202e", total=1), style) for style in ("json", "toon")]

    assert all("\x1b" not in text and "\u202e" not in text for text in texts)
    assert json.loads(texts[0])["messages"][0]["subject"] == "\x1b[31mred\u202e"
