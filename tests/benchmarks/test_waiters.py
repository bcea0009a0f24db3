"""`make waiters`: a crowd is woken, told apart from whose time is over, and has no more connections than it may."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.processes import Server, start_floor
from benchmarks.waiters.connections import CallWaiter, Got, Kind, Place, StreamReader
from benchmarks.waiters.crowd import Crowd, allow_files
from benchmarks.waiters.house import Waker, agent_of, places
from benchmarks.wire import McpSession, Refused

EVENT = b'4b\r\nid: 7\nevent: delivered\ndata: {"cursor":7}\n\n\r\n'


@pytest.fixture
def floor(tmp_path: Path) -> Iterator[Server]:
    server = start_floor(tmp_path, set(), McpSession(), module="benchmarks.waiters.floor")
    yield server
    server.process.kill()
    server.process.wait()


def _at(kind: Kind, *, project: str | None = "/bench/x") -> Place:
    return Place(port=1, project=project, agent="A", kind=kind)


def _answer(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d OK\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body


def test_a_crowd_of_both_eras_waits_at_the_floor_and_is_woken_again_and_again(floor: Server) -> None:
    crowd_places = places(floor.port, (Kind.SESSION, Kind.MODERN), 5, None)

    with Crowd(crowd_places) as crowd, closing(Waker(floor, is_floor=True)) as waker:
        crowd.open()
        for _ in range(2):
            waker.until_waiting(crowd)
            woken = waker.wake_all(crowd)

            assert len(woken.answers_ms) == 5
            assert min(woken.answers_ms) > 0
        assert waker.waiting() == 0


def test_waiters_have_agents_of_their_own_and_the_kinds_take_turns() -> None:
    made = places(1, (Kind.SESSION, Kind.STREAM), 3, "/bench/x")

    assert [place.agent for place in made] == [agent_of(number) for number in range(3)]
    assert [place.kind for place in made] == [Kind.SESSION, Kind.STREAM, Kind.SESSION]


@pytest.mark.parametrize("cut", range(1, len(EVENT) - 1, 7))
def test_an_event_counts_once_it_is_whole(cut: int) -> None:
    reader = StreamReader(_at(Kind.STREAM))

    got = [reader.took(b"3\r\n:\n\n\r\n"), reader.took(EVENT[:cut]), reader.took(EVENT[cut:]), reader.took(EVENT)]

    is_whole = b"}\n\n" in EVENT[:cut]
    assert got == [
        Got.NOTHING_YET,
        *((Got.MAIL, Got.NOTHING_YET) if is_whole else (Got.NOTHING_YET, Got.MAIL)),
        Got.MAIL,
    ]


def test_mail_is_told_from_a_time_that_is_over_and_an_error_is_no_answer() -> None:
    waiter = CallWaiter(_at(Kind.MODERN))
    mail = b'{"result":{"structuredContent":{"messages":[{"id":3}],"next_cursor":9}}}'
    nothing = b'{"result":{"structuredContent":{"messages":[],"next_cursor":9}}}'
    stopping = b'{"result":{"isError":true}}'

    assert [waiter.took(_answer(mail)), waiter.took(_answer(nothing))] == [Got.MAIL, Got.TIME_IS_OVER]
    assert waiter._call()[1]["after_cursor"] == 9
    with pytest.raises(Refused):
        waiter.took(_answer(stopping))


def test_more_connections_than_the_system_allows_are_refused_with_what_it_does() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        pytest.skip("no limit here")

    with pytest.raises(Refused, match=f"allows {hard}"):
        allow_files(hard)
