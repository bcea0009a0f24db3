from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import Busy, Conflict, in_sentences, listed

SOURCE = Path(__file__).parents[2] / "src" / "mcp_agent_mail"


@pytest.mark.parametrize(
    ("names", "as_choices", "as_all"),
    [([], "", ""), (["a"], "a", "a"), (["a", "b"], "a or b", "a and b"), (["a", "b", "c"], "a, b or c", "a, b and c")],
)
def test_names_stand_in_a_sentence_as_choices_or_all_of_them(names: list[str], as_choices: str, as_all: str) -> None:
    assert (listed(names), listed(names, "and")) == (as_choices, as_all)


def test_a_busy_answer_says_when_to_call_again_in_words_and_to_programs() -> None:
    plain = Busy("Too many.")
    told = Busy("Too many.", retry_after_s=60, first="Free some.", otherwise=", or ask for less", data={"max": 3})

    assert (plain.hint, plain.data) == ("Call again in 1 s.", {"retry_after_s": 1})
    assert told.hint == "Free some. Call again in 60 s, or ask for less."
    assert told.data == {"max": 3, "retry_after_s": 60}


def test_a_refusal_told_otherwise_is_another_of_its_kind() -> None:
    busy = Busy("Too many.", retry_after_s=60)

    told = busy.reworded(hint="Wait.", data={"max": 3})

    assert told.to_wire() == {**busy.to_wire(), "hint": "Wait.", "data": {"max": 3}}
    assert type(told) is Busy
    assert (busy.hint, busy.data) == ("Call again in 60 s.", {"retry_after_s": 60})


class _Measured(Busy):
    """As many refusals are: not made of a text alone."""

    def __init__(self, *, size: int) -> None:
        super().__init__(f"{size} are too many.")
        self.size = size


def test_a_refusal_that_is_not_made_of_a_text_is_told_otherwise_too() -> None:
    measured = _Measured(size=3)

    told = measured.reworded(hint="Wait.", data={}, message="Too many.")

    assert (type(told), told.size, told.message, str(told), told.hint) == (
        _Measured,
        3,
        "Too many.",
        "Too many.",
        "Wait.",
    )
    assert (str(measured), measured.message) == ("3 are too many.",) * 2


def test_no_hint_leaves_open_when_to_call_again() -> None:
    vague = re.compile(r"(again|try) (shortly|in a (moment|minute|while))", re.IGNORECASE)

    assert [str(file) for file in SOURCE.rglob("*.py") if vague.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("It is taken.", "Take another."), "It is taken. Take another."),
        (("It is taken", "Take another."), "It is taken. Take another."),
        (("Is it taken?", "", " Take another "), "Is it taken? Take another"),
        (("It is taken", ""), "It is taken"),
        (("", ""), ""),
    ],
)
def test_what_is_followed_ends_as_a_sentence(parts: tuple[str, ...], text: str) -> None:
    assert in_sentences(*parts) == text


def test_the_text_of_a_refusal_is_the_fact_and_the_hint() -> None:
    assert Conflict("It is taken", hint="Take another.").text == "It is taken. Take another."
