from __future__ import annotations

from collections.abc import Mapping

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.domain.messages import GOOD
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.delivery.status import MessageStatus
from mcp_agent_mail.web.views.message import MessageView
from mcp_agent_mail.web.views.thread import DEEPEST, receipts_of, thread_rows


def mail(number: int, answers: int | None = None, subject: str = "Plan") -> MessageView:
    return MessageView(
        id=MessageId(number),
        project="app",
        sender="BlueLake",
        subject=subject,
        body_md="",
        is_folded=False,
        importance="normal",
        asks_ack=False,
        thread_id="T",
        topic=None,
        created_ts=Micros(0),
        reply_to=None if answers is None else MessageId(answers),
        is_system=False,
        standing=GOOD,
        attachments=(),
    )


def status(counts: Mapping[str, int]) -> MessageStatus:
    project = Project(id=ProjectId(1), slug="app", human_key="/code/app", created_ts=Micros(0), archived_ts=None)
    return MessageStatus(
        message_id=MessageId(1), project=project, copies=[], total=sum(counts.values()), counts=counts, reader=None
    )


def test_each_answer_stands_behind_what_it_answers_one_step_in() -> None:
    rows = thread_rows([mail(1), mail(2, 1), mail(3), mail(4, 2), mail(5, 1), mail(6, 6)], "Plan", {})

    assert [(row.message.id, row.depth) for row in rows] == [(1, 0), (2, 1), (4, 2), (5, 1), (3, 0), (6, 1)]


def test_what_answers_mail_of_another_page_begins_one_step_in_and_says_so() -> None:
    (first, second) = thread_rows([mail(8, 2), mail(9, 8)], "Plan", {})

    assert (first.depth, first.is_near) == (1, False)
    assert (second.depth, second.is_near) == (2, True)


def test_a_long_chain_is_indented_so_far_and_loses_none() -> None:
    rows = thread_rows([mail(1), *(mail(number, number - 1) for number in range(2, 3_000))], "Plan", {})

    assert [row.message.id for row in rows] == list(range(1, 3_000))
    assert max(row.depth for row in rows) == DEEPEST


def test_a_circle_of_answers_loses_none() -> None:
    rows = thread_rows([mail(1, 2), mail(2, 1), mail(3)], "Plan", {})

    assert sorted(row.message.id for row in rows) == [1, 2, 3]


def test_a_subject_is_said_where_it_differs_alone() -> None:
    rows = thread_rows([mail(1), mail(2, subject="RE: re: plan"), mail(3, subject="Plan B")], "Plan", {})

    assert [row.subject for row in rows] == [None, None, "Plan B"]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({}, ""),
        ({"delivered": 3}, "delivered"),
        ({"handed_over": 1}, "handed over"),
        ({"read": 1}, "read"),
        ({"read": 1, "acknowledged": 1, "delivered": 1}, "2 of 3 read"),
        ({"shown": 1, "delivered": 1}, "0 of 2 read"),
    ],
)
def test_receipts_are_told_in_short(counts: dict[str, int], words: str) -> None:
    assert receipts_of(status(counts)) == words
