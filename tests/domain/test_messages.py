from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.attachments import Attachment, StoredContent, to_json
from mcp_agent_mail.domain.messages import (
    MAX_BODIES_BYTES,
    MAX_SUBJECT,
    BodyTooLong,
    MessageHead,
    Recipient,
    RecipientKind,
    UnfitSubject,
    bodies_that_fit,
    bodies_that_fit_escaped,
    inline_that_fits,
    parse_subject,
    reply_subject,
    require_body_fits,
)


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Plan", "Plan"),
        ("  Plan  ", "Plan"),
        ("one\ntwo", "one two"),
        ("one\r\ntwo\rthree", "one two three"),
        ("one\ttwo\u2028three\x85four", "one two three four"),
        ("x" * MAX_SUBJECT, "x" * MAX_SUBJECT),
    ],
)
def test_a_subject_is_one_line(text: str, subject: str) -> None:
    assert parse_subject(text) == subject


@pytest.mark.parametrize("text", ["", " \n ", "x" * (MAX_SUBJECT + 1), "a\x1b[31mb", "a\x7f", "a\x00b", "a\x9bb"])
def test_a_subject_that_is_blank_too_long_or_holds_control_characters_is_refused(text: str) -> None:
    with pytest.raises(UnfitSubject):
        parse_subject(text)


@pytest.mark.parametrize(
    ("original", "prefix", "subject"),
    [
        ("Plan", "Re:", "Re: Plan"),
        ("Re: Plan", "Re:", "Re: Plan"),
        ("RE: Plan", "Re:", "RE: Plan"),
        ("Plan", "AW:\n", "AW: Plan"),
        ("re: Plan", "AW:", "AW: re: Plan"),
        ("Regarding", "Re", "Re Regarding"),
        ("Re Plan", "Re", "Re Plan"),
    ],
)
def test_a_reply_has_the_prefix_once(original: str, prefix: str, subject: str) -> None:
    assert reply_subject(original, prefix) == subject


def test_a_subject_without_room_for_the_prefix_stays_as_it_is() -> None:
    assert reply_subject("x" * MAX_SUBJECT, "Re:") == "x" * MAX_SUBJECT


@given(st.text(min_size=1, max_size=520).filter(lambda text: text.isprintable() and text.strip() == text))
def test_replying_to_a_reply_never_changes_the_subject_again(text: str) -> None:
    first = reply_subject(text[:MAX_SUBJECT].strip(), "Re:")

    assert reply_subject(first, "Re:") == first


def test_a_body_is_measured_in_bytes() -> None:
    require_body_fits("é" * 512, 1_024)

    with pytest.raises(BodyTooLong) as refused:
        require_body_fits("é" * 512 + "x", 1_024)

    assert refused.value.data == {"parameter": "body_md", "bytes": 1_025, "max_bytes": 1_024}


def head(message_id: int, body_bytes: int) -> MessageHead:
    return MessageHead(
        id=MessageId(message_id),
        project_id=ProjectId(1),
        project_slug="app",
        sender_name="BlueLake",
        thread_id=None,
        topic=None,
        subject="Plan",
        importance="normal",
        ack_required=False,
        created_ts=Micros(0),
        reply_to=None,
        is_system=False,
        body_bytes=body_bytes,
    )


def test_one_answer_carries_two_mebibytes_of_bodies_in_order_each_that_still_fits() -> None:
    mebibyte = 1024 * 1024
    heads = [head(1, mebibyte), head(2, mebibyte - 10), head(3, 11), head(4, 10), head(5, 1), head(6, 0)]

    assert bodies_that_fit(heads) == [1, 2, 4, 6]


@given(st.lists(st.text(st.sampled_from('\x01"aé'), max_size=5).map(lambda text: text * 50_000), max_size=12))
def test_nor_do_they_as_json_writes_them(texts: list[str]) -> None:
    bodies = {MessageId(number): text for number, text in enumerate(texts)}

    chosen = bodies_that_fit_escaped(bodies)

    sizes = [len(orjson.dumps(text)) - 2 for text in chosen.values()]
    assert sum(sizes) <= MAX_BODIES_BYTES
    assert all(bodies[one] == text for one, text in chosen.items())
    assert (
        len(chosen) == len(bodies)
        or sum(sizes) + max(len(orjson.dumps(text)) - 2 for one, text in bodies.items() if one not in chosen)
        > MAX_BODIES_BYTES
    )


@given(st.lists(st.integers(0, 3 * 1024 * 1024), max_size=20))
def test_bodies_never_exceed_the_bound(sizes: list[int]) -> None:
    chosen = set(bodies_that_fit(head(index, size) for index, size in enumerate(sizes)))

    assert sum(size for index, size in enumerate(sizes) if index in chosen) <= MAX_BODIES_BYTES


@pytest.mark.parametrize(
    ("delivery_seq", "refused_ts", "status"),
    [(1, None, "delivered"), (None, None, "held"), (None, 7, "refused")],
)
def test_a_copy_is_delivered_held_or_refused(delivery_seq: int | None, refused_ts: int | None, status: str) -> None:
    recipient = Recipient(
        message_id=MessageId(1),
        agent_id=AgentId(2),
        project_id=ProjectId(1),
        project_slug="app",
        name="RedStone",
        kind=RecipientKind.TO,
        position=0,
        delivery_seq=delivery_seq,
        delivered_ts=None,
        read_ts=None,
        ack_ts=None,
        last_active_ts=Micros(0),
        refused_ts=None if refused_ts is None else Micros(refused_ts),
    )

    assert recipient.status == status


def _carrying(number: int, *inline_bytes: int) -> MessageHead:
    carried = [
        Attachment(
            content=StoredContent(sha256=f"{number:032x}{place:032x}", bytes=size, extension="webp"),
            name="a",
            media_type="image/webp",
            is_inline=True,
        )
        for place, size in enumerate(inline_bytes)
    ]
    return head(number, 0)._replace(attachments=to_json(carried))


def test_inline_contents_share_with_bodies_what_one_answer_carries_and_fill_it_to_the_last_byte() -> None:
    heads = [head(1, 10), _carrying(2, 300, 301), _carrying(3, 3)]

    def chosen(body_bytes: int) -> list[tuple[int, list[int]]]:
        fitting = inline_that_fits(heads, {MessageId(1): "b" * body_bytes})
        return [(number, [one.bytes for one in contents]) for number, contents in fitting.items()]

    assert chosen(0) == [(2, [300, 301]), (3, [3])]
    assert chosen(MAX_BODIES_BYTES - 400 - 404 - 4) == [(2, [300, 301]), (3, [3])]
    assert chosen(MAX_BODIES_BYTES - 400 - 404 - 3) == [(2, [300, 301])]
    assert chosen(MAX_BODIES_BYTES - 404) == [(2, [300]), (3, [3])]
    assert chosen(MAX_BODIES_BYTES) == []


def test_what_is_not_inline_takes_no_room() -> None:
    as_file = Attachment(
        content=StoredContent(sha256="0f" * 32, bytes=3, extension="png"), name="a", media_type="image/png"
    )

    assert inline_that_fits([head(1, 0)._replace(attachments=to_json([as_file]))], {}) == {}
