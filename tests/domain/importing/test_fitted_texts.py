from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.clock import LATEST, Micros
from mcp_agent_mail.domain.importing.fitted_texts import (
    fit_line,
    fit_subject,
    fit_text,
    fit_thread,
    fit_time,
    fit_topic,
)
from mcp_agent_mail.domain.messages import MAX_SUBJECT, parse_subject
from mcp_agent_mail.domain.threads import parse_thread_id, parse_topic, root_of_thread


@given(st.text(alphabet=st.characters()), st.text(alphabet=st.characters()))
def test_whatever_comes_is_fit_then(text: str, body: str) -> None:
    fit_text(text).encode()
    assert parse_subject(fit_subject(text, fit_text(body)))
    assert parse_thread_id(fit_thread(text))
    assert root_of_thread(fit_thread(text)) is None
    topic = fit_topic(text)
    assert topic is None or parse_topic(topic)


def test_what_is_fit_stays() -> None:
    assert (fit_thread("TKT-7"), fit_topic("build"), fit_subject("Plan", "x")) == ("TKT-7", "build", "Plan")
    assert fit_text("line\n\ttab ü") == "line\n\ttab ü"


def test_a_bare_number_is_no_message_here() -> None:
    assert fit_thread("42") == "thread-42"


def test_two_names_that_look_alike_then_stay_two() -> None:
    assert fit_thread("a/b") != fit_thread("a b")
    assert fit_thread("x" * 200) != fit_thread("x" * 201)


def test_a_long_subject_says_that_it_is_cut() -> None:
    cut = fit_subject("s" * 600, "")

    assert (len(cut), cut[-1]) == (MAX_SUBJECT, "…")
    assert fit_line("a\nb\x07", 10) == "a b"


@pytest.mark.parametrize(("at", "fit"), [(-5, 0), (7, 7), (1 << 62, LATEST)])
def test_times_are_within_the_calendar(at: int, fit: int) -> None:
    assert fit_time(Micros(at)) == fit
