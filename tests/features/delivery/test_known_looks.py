"""Looks at rights: one for all URIs that show the same to the same reader, and how long it counts."""

from __future__ import annotations

import asyncio

import pytest

from mcp_agent_mail.core.errors import Busy, NotFound
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.copy_changes import Watched, WatchedKey, WatchedKind
from mcp_agent_mail.features.delivery.known_looks import KnownLooks, Named, shows_same

INBOX = Watched(key=WatchedKey(WatchedKind.MAILBOX, 1))
OTHER = Watched(key=WatchedKey(WatchedKind.MAILBOX, 2))
ONE, TWO = Credentials(via="mcp", agent_token="one"), Credentials(via="mcp", agent_token="two")


class Looked:
    """Answers `shows`, or refuses; counts how often it was asked."""

    def __init__(self, **shows: Watched) -> None:
        self.shows = shows
        self.asked: list[str] = []
        self.error: Exception = NotFound("It is gone.")
        self.rights = KnownLooks(self.look)
        self.is_answered = asyncio.Event()
        self.is_answered.set()

    async def look(self, uri: str, _credentials: Credentials) -> Watched:
        """What is shown when it is asked, answered later."""
        self.asked.append(uri)
        shown = self.shows.get(uri)
        await self.is_answered.wait()
        if shown is None:
            raise self.error
        return shown

    async def seen(self, uri: str, named: Named = ("inbox",), credentials: Credentials = ONE) -> Watched | None:
        return await self.rights.seen(uri, named, INBOX, credentials)


async def test_uris_that_show_the_same_to_the_same_reader_are_one_look() -> None:
    looked = Looked(a=INBOX, b=INBOX)

    assert [await looked.seen(uri) for uri in ("a", "b", "a")] == [INBOX] * 3
    await looked.seen("b", credentials=TWO)

    assert looked.asked == ["a", "b"]


async def test_a_change_of_what_is_shown_makes_each_look_anew() -> None:
    looked = Looked(a=INBOX)
    await looked.seen("a")

    looked.rights.forget()
    del looked.shows["a"]

    assert await looked.seen("a") is None


async def test_a_look_that_began_before_a_change_is_not_kept_after_it() -> None:
    looked = Looked(a=INBOX)
    looked.is_answered.clear()
    before = asyncio.ensure_future(looked.seen("a"))
    await asyncio.sleep(0)

    del looked.shows["a"]
    looked.rights.forget()
    looked.is_answered.set()

    assert (await before, await looked.seen("a"), looked.asked) == (INBOX, None, ["a", "a"])


async def test_what_one_name_is_refused_for_another_is_asked_for() -> None:
    looked = Looked(b=INBOX)

    assert [await looked.seen("a"), await looked.seen("a2")] == [None, None]
    assert await looked.seen("b", ("inbox", "by another name")) == INBOX
    assert looked.asked == ["a", "b"]


async def test_what_shows_something_else_now_says_nothing_of_the_others() -> None:
    looked = Looked(a=OTHER, b=INBOX)

    assert (await looked.seen("a"), await looked.seen("b", ("another",))) == (OTHER, INBOX)


async def test_what_could_not_be_asked_is_not_known() -> None:
    looked = Looked()
    looked.error = Busy("The store is busy.", retry_after_s=1)
    with pytest.raises(Busy):
        await looked.seen("a")

    looked.shows["a"] = INBOX

    assert await looked.seen("a") == INBOX


async def test_whose_own_mailbox_it_is_is_asked_anew_and_nobodys_where_it_cannot_be_known() -> None:
    own = Watched(key=INBOX.key, listener=AgentId(7))
    looked = Looked(a=own, b=INBOX)
    await looked.seen("a")

    found = [await looked.rights.find_listener(uri, ONE) for uri in ("a", "b", "none")]

    assert (found, looked.asked) == ([AgentId(7), None, None], ["a", "a", "b", "none"])


def test_two_see_the_same_whoever_they_are() -> None:
    assert shows_same(INBOX, Watched(key=INBOX.key, reader=AgentId(7)))
    assert not shows_same(INBOX, OTHER)
