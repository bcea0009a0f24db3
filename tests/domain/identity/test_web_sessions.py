from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import IssuedTokenId, WebSessionId
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.web_sessions import (
    IDLE,
    LIFETIME,
    LINK_LIFETIME,
    MAX_LINKS,
    MAX_LIVE,
    MAX_OF_ONE_TOKEN,
    TOUCHED_EVERY,
    OpenedBy,
    SessionGrant,
    TooManySessions,
    WebSession,
    displaced,
)

LINK = SessionGrant(by=OpenedBy.LINK, role=Role.OPERATOR)


def a_session(number: int, grant: SessionGrant, used_ts: int | None = None) -> WebSession:
    used = Micros(number if used_ts is None else used_ts)
    return WebSession(id=WebSessionId(number), grant=grant, created_ts=Micros(0), used_ts=used)


def issued(number: int, role: Role = Role.READER) -> SessionGrant:
    return SessionGrant(by=OpenedBy.ISSUED, role=role, issued_token=IssuedTokenId(number))


def test_how_long_sessions_and_links_last_and_how_many_there_are() -> None:
    assert (IDLE, LIFETIME) == (28_800_000_000, 604_800_000_000)
    assert (LINK_LIFETIME, TOUCHED_EVERY) == (60_000_000, 60_000_000)
    assert (MAX_LIVE, MAX_OF_ONE_TOKEN, MAX_LINKS) == (200, 50, 20)


def test_a_session_ends_at_the_first_of_its_ends() -> None:
    fresh = replace(a_session(1, LINK), used_ts=Micros(5))
    late = replace(fresh, used_ts=Micros(LIFETIME - 1))
    short = replace(late, grant=replace(LINK, expires_ts=Micros(7)))

    assert [one.ends_ts for one in (fresh, late, short)] == [5 + IDLE, LIFETIME, 7]
    assert [fresh.is_live(Micros(5 + IDLE - before)) for before in (1, 0)] == [True, False]


def test_where_there_is_room_nobody_goes() -> None:
    live = [a_session(number, issued(number)) for number in range(MAX_LIVE - 1)]

    assert displaced(live, issued(0)) == []
    assert displaced([], LINK) == []


def test_of_one_bearer_its_own_that_was_used_least_lately_goes() -> None:
    own = [a_session(number, issued(1), used_ts=100 - number) for number in range(MAX_OF_ONE_TOKEN)]
    others = [a_session(900 + number, issued(2), used_ts=0) for number in range(5)]

    assert displaced([*others, *own], issued(1)) == [own[-1]]


def test_what_tells_bearers_apart() -> None:
    jwt = SessionGrant(by=OpenedBy.JWT, role=Role.READER, subject_hash=b"ada", judged_by=b"one")
    bearers = [LINK, issued(1), issued(2), jwt, replace(jwt, subject_hash=b"bob"), replace(LINK, by=OpenedBy.SERVER)]

    assert len({one.bearer for one in bearers}) == len(bearers)
    assert replace(LINK, by=OpenedBy.OPERATOR).bearer == LINK.bearer
    assert replace(jwt, judged_by=b"two", claimed_agents=("BlueLake",)).bearer == jwt.bearer


def test_of_a_full_store_the_lowest_role_goes_first_then_what_was_used_least_lately() -> None:
    writers = [a_session(number, issued(number, Role.WRITER), used_ts=0) for number in range(MAX_LIVE - 2)]
    early, late = a_session(900, issued(900), used_ts=5), a_session(901, issued(901), used_ts=6)

    assert displaced([*writers, late, early], LINK) == [early]
    assert displaced([*writers, late, early], issued(902)) == [early]
    assert displaced([*writers, late, a_session(902, LINK, used_ts=0)], issued(903, Role.WRITER)) == [late]


def test_a_lower_role_displaces_none_of_a_higher() -> None:
    live = [a_session(number, issued(number, Role.WRITER)) for number in range(MAX_LIVE)]

    with pytest.raises(TooManySessions):
        displaced(live, issued(900))
    assert displaced(live, issued(900, Role.WRITER)) == [live[0]]
