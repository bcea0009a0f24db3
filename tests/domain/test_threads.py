from __future__ import annotations

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.threads import (
    ThreadMismatch,
    UnfitThread,
    UnfitTopic,
    is_in_thread,
    parse_thread_id,
    parse_topic,
    require_same_thread,
    root_of_thread,
    thread_of,
    topic_key,
)


@pytest.mark.parametrize("text", ["TKT-123", "a", "7", "0.1_x-y", "x" * 128])
def test_a_thread_id_is_kept_as_written(text: str) -> None:
    assert parse_thread_id(f"  {text}\n") == text


@pytest.mark.parametrize("text", ["", "-x", ".x", "a b", "a/b", "../x", "ä", "x" * 129, "a\nb", "a\0"])
def test_other_text_is_no_thread_id(text: str) -> None:
    with pytest.raises(UnfitThread):
        parse_thread_id(text)


@pytest.mark.parametrize("text", ["build", "_x", "-x", "9.1", "X" * 64])
def test_a_topic_is_kept_as_written(text: str) -> None:
    assert parse_topic(f" {text} ") == text


@pytest.mark.parametrize("text", ["", ".x", "a b", "a/b", "x" * 65, "é"])
def test_other_text_is_no_topic(text: str) -> None:
    with pytest.raises(UnfitTopic):
        parse_topic(text)


@pytest.mark.parametrize(
    ("topic", "key"), [("Build", "build"), ("API-2._z", "api-2._z"), ("\u00c4\u212aX", "\u00c4\u212ax")]
)
def test_topics_differ_by_no_more_than_the_case_of_ascii(topic: str, key: str) -> None:
    assert topic_key(topic) == key


@pytest.mark.parametrize(
    ("thread_id", "root"),
    [("7", 7), ("9223372036854775807", 2**63 - 1), ("TKT-7", None), ("7a", None)],
)
def test_an_all_digit_thread_is_named_by_a_message(thread_id: str, root: int | None) -> None:
    assert root_of_thread(thread_id) == root


@pytest.mark.parametrize("thread_id", ["0", "007", "9223372036854775808", "9" * 128])
def test_digits_that_are_no_id_stand_for_the_message_that_never_exists(thread_id: str) -> None:
    assert root_of_thread(thread_id) == 0


def test_a_reply_joins_the_thread_or_starts_the_one_named_by_the_original() -> None:
    assert thread_of(MessageId(7), "TKT-1") == "TKT-1"
    assert thread_of(MessageId(7), None) == "7"


def test_in_a_thread_is_what_carries_its_id_and_what_it_is_named_by() -> None:
    asked = [("TKT-1", 7, "TKT-1"), ("7", 7, None), ("7", 8, "7"), ("8", 7, None), ("TKT-1", 7, None)]

    assert [is_in_thread(thread, MessageId(number), own) for thread, number, own in asked] == [True] * 3 + [False] * 2


def test_a_thread_beside_reply_to_must_be_the_same_one() -> None:
    require_same_thread(None, "TKT-1", MessageId(7))
    require_same_thread("TKT-1", "TKT-1", MessageId(7))

    with pytest.raises(ThreadMismatch):
        require_same_thread("TKT-2", "TKT-1", MessageId(7))
