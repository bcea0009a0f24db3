"""Twenty answers of `am robot` are golden, and the page tells what each costs."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.cli.robot.line import MAX_BYTES
from tests.cli.robot.golden_answers import PAGE, QUESTIONS, alike, answers, page_with, recorded


def test_each_answer_is_the_recorded_one(tmp_path: Path) -> None:
    found = answers(tmp_path)

    told = [row["answer"] for row in recorded()]
    assert list(map(alike, found)) == told, "look at what has changed, then: make tokens"
    assert all(len(text.encode()) <= MAX_BYTES for text in found)


def test_the_page_tells_what_each_answer_costs() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == page_with(page, recorded())
    assert [row["question"] for row in recorded()] == [question for _, question in QUESTIONS]
