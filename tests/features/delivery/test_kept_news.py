"""What of one stream is still to be told, and what is told again."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.copy_changes import ChangeReaders, Watched, WatchedKey, WatchedKind
from mcp_agent_mail.features.delivery.kept_news import KeptNews, Subscription

INBOX = Watched(key=WatchedKey(WatchedKind.MAILBOX, 1))
ALL, READER = ChangeReaders.ALL, ChangeReaders.READER


def subscription(uri: str = "a", watched: Watched = INBOX) -> Subscription:
    return Subscription(uri, ("inbox",), Credentials(via="mcp"), watched)


@pytest.mark.parametrize(
    ("project", "token", "may_end_untold"),
    [
        ("/code/app", None, False),
        ("/code/app", "amt_a", False),
        ("/code/app", "amj_a", True),
        ("", None, True),
        ("app", None, True),
    ],
)
def test_what_ends_by_more_than_its_agents_rights_says_so(
    project: str, token: str | None, may_end_untold: bool
) -> None:
    one = Subscription("a", ("inbox", project, "RedStone"), Credentials(via="mcp", agent_token=token), INBOX)

    assert one.may_end_untold is may_end_untold


def test_what_was_noted_waits_for_each_that_shows_it_and_is_taken_once() -> None:
    one, two, other = subscription(), subscription("b"), subscription("c", Watched(key=WatchedKey(INBOX.key.kind, 2)))
    news = KeptNews()
    news.note(INBOX, READER)
    news.note(INBOX, ALL)
    news.spread([one, two, other])

    assert news.waiting == [one, two]
    assert [news.take(one), news.take(one), news.take(other)] == [ALL, None, None]
    assert news.waiting == [two]


def test_what_was_taken_waits_again_once_the_stream_has_ended_but_what_was_refused() -> None:
    one, two, three = subscription(), subscription("b"), subscription("c")
    news = KeptNews()
    for each in (one, two, three):
        news.put(each, READER)
        news.take(each)
    news.put(one, ALL)
    news.refuse(two)
    news.drop(three)
    news.take_back()
    news.take_back()

    assert news.waiting == [one]
    assert news.take(one) is ALL


def test_who_takes_anothers_place_is_told_what_that_one_was_to_be_told() -> None:
    before, after = subscription(), subscription()
    news = KeptNews()
    news.put(before, ALL)
    news.take(before)
    news.put(before, READER)
    news.hand_on(before, after)
    waiting = [news.waiting, news.take(after)]
    news.take_back()

    assert waiting == [[after], READER]
    assert (news.waiting, news.take(after)) == ([after], ALL)
