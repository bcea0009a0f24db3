from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mcp_agent_mail.core.clock import from_datetime
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.web.filters import MAX_FILTER, MailTerms, UnfitFilter, read_terms

_TODAY = datetime(2026, 5, 8, 12, tzinfo=UTC)
NOW = from_datetime(_TODAY)
WEEK_AGO = from_datetime(_TODAY - timedelta(days=7))
MAY = from_datetime(datetime(2026, 5, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", MailTerms()),
        ("from:BlueLake to:Human", MailTerms(sender="BlueLake", recipient="Human")),
        ('topic:"two words" x', MailTerms(topic="two words", words="x")),
        ("project:code-app is:unread", MailTerms(project="code-app", is_unread=True)),
        ("project:/code/app thread:T-1", MailTerms(project="/code/app", thread_id="T-1")),
        ("needs:ack Importance:URGENT", MailTerms(needs_ack=True, importance=Importance.URGENT)),
        ("  plan   b ", MailTerms(words="plan b")),
        ("from:A from:B", MailTerms(sender="B")),
        ("before:2026-05-01 x", MailTerms(end_ts=MAY, words="x")),
        ("after:7d", MailTerms(begin_ts=WEEK_AGO)),
        ("since:1w", MailTerms(begin_ts=WEEK_AGO)),
        ("see http://a std::move TODO: src/a.py:12", MailTerms(words="see http://a std::move TODO: src/a.py:12")),
        ("subject:plan", MailTerms(words="subject:plan")),
        ('"is:unread from:A"', MailTerms(words='"is:unread from:A"')),
        ("foo:bar x Foo:baz", MailTerms(words="foo:bar x Foo:baz", strange=("foo",))),
    ],
)
def test_a_filter_is_read_as_people_write_it(text: str, terms: MailTerms) -> None:
    assert read_terms(text, NOW) == terms


@pytest.mark.parametrize(
    "text",
    [
        "from:", 'from:""', "is:read", "needs:me", "is:unread is:old", "importance:loud", "x" * (MAX_FILTER + 1),
        "before:", "before:soon", "after:7", "since:2026-13-01", "after:99999y",
    ],
)  # fmt: skip
def test_what_nobody_can_filter_by_is_refused_with_what_can(text: str) -> None:
    with pytest.raises(UnfitFilter) as refused:
        read_terms(text, NOW)

    assert refused.value.hint


def test_what_looks_like_a_filter_and_is_none_is_said_with_those_there_are() -> None:
    note = read_terms("foo:bar x:y plan", NOW).note

    assert note.startswith("foo:, x: are no filters, and looked for as words. Filters are from:, to:, project:,")
    assert read_terms("plan subject:x", NOW).note == ""
