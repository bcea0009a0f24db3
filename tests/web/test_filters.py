from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mcp_agent_mail.core.clock import from_datetime
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.web.filters import MAX_FILTER, UnfitFilter, WrittenFilter, read_filter

_TODAY = datetime(2026, 5, 8, 12, tzinfo=UTC)
NOW = from_datetime(_TODAY)
WEEK_AGO = from_datetime(_TODAY - timedelta(days=7))
MAY = from_datetime(datetime(2026, 5, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("", WrittenFilter()),
        ("from:BlueLake to:Human", WrittenFilter(sender="BlueLake", recipient="Human")),
        ('topic:"two words" x', WrittenFilter(topic="two words", words="x")),
        ("project:code-app is:unread", WrittenFilter(project="code-app", is_unread=True)),
        ("project:/code/app thread:T-1", WrittenFilter(project="/code/app", thread_id="T-1")),
        ("needs:ack Importance:URGENT", WrittenFilter(needs_ack=True, importance=Importance.URGENT)),
        ("  plan   b ", WrittenFilter(words="plan b")),
        ("from:A from:B", WrittenFilter(sender="B", counting=("from:B",))),
        ("from:A from:A", WrittenFilter(sender="A")),
        ("after:1w x since:7d", WrittenFilter(begin_ts=WEEK_AGO, words="x", counting=("since:7d",))),
        ("cart -report", WrittenFilter(words="cart -report", minus="report")),
        ('cart "-x" a-b --all - -1', WrittenFilter(words='cart "-x" a-b --all - -1', minus="1")),
        ("before:2026-05-01 x", WrittenFilter(end_ts=MAY, words="x")),
        ("after:7d", WrittenFilter(begin_ts=WEEK_AGO)),
        ("since:1w", WrittenFilter(begin_ts=WEEK_AGO)),
        ("see http://a std::move TODO: src/a.py:12", WrittenFilter(words="see http://a std::move TODO: src/a.py:12")),
        ("subject:plan", WrittenFilter(words="subject:plan")),
        ('"is:unread from:A"', WrittenFilter(words='"is:unread from:A"')),
        ("is:UNREAD needs:Ack", WrittenFilter(is_unread=True, needs_ack=True)),
        ("after:7D", WrittenFilter(begin_ts=WEEK_AGO)),
        ('topic:" two words "', WrittenFilter(topic="two words")),
        ("x" * MAX_FILTER, WrittenFilter(words="x" * MAX_FILTER)),
        ("foo:bar x Foo:baz", WrittenFilter(words="foo:bar x Foo:baz", strange=("foo",))),
    ],
)
def test_a_filter_is_read_as_people_write_it(text: str, typed: WrittenFilter) -> None:
    assert read_filter(text, NOW) == typed


@pytest.mark.parametrize(
    "text",
    [
        "since:", 'topic:" "', "after:99999d", "after:-5", "after:7.5", "before:-7.5",
        "from:", 'from:""', "is:read", "needs:me", "is:unread is:old", "importance:loud", "x" * (MAX_FILTER + 1),
        "From:", "x SINCE: y", "before:", "before:soon", "after:7", "since:2026-13-01", "after:99999y",
    ],
)  # fmt: skip
def test_what_nobody_can_filter_by_is_refused_with_what_can(text: str) -> None:
    with pytest.raises(UnfitFilter) as refused:
        read_filter(text, NOW)

    assert refused.value.hint


def test_what_looks_like_a_filter_and_is_none_is_said_with_those_there_are() -> None:
    (note,) = read_filter("foo:bar x:y plan", NOW).notes

    assert note.startswith("foo:, x: are no filters, and looked for as words. Filters are from:, to:, project:,")
    assert read_filter("plan subject:x", NOW).notes == []


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("cart -report", ["- is no operator: write NOT report behind the words that you look for."]),
        ('(cart -"a report")', ['- is no operator: write NOT "a report" behind the words that you look for.']),
        ("x -From:A", ["- is no operator, and no filter excludes: -From:A is looked for as words."]),
        ("x -subject:plan", []),
        ("a-b --all -", []),
        ("from:A from:A", []),
        ("from:A x from:B from:A", ["Each filter counts once: of several the last does, from:A."]),
        (
            "importance:high is:unread importance:urgent after:1w since:2d",
            [
                "Each filter counts once: of several the last does, importance:urgent.",
                "Each filter counts once: of several the last does, since:2d.",
            ],
        ),
    ],
)
def test_what_does_not_count_as_it_is_written_is_said(text: str, notes: list[str]) -> None:
    assert read_filter(text, NOW).notes == notes
