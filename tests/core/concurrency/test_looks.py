"""Looks at directories that answer, that hang, and that come back."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable

import pytest

from mcp_agent_mail.core.concurrency import looks as module
from mcp_agent_mail.core.concurrency.looks import (
    FIRST_SILENCE_S,
    LOST_OF_ONE,
    LOST_OF_STRANGERS,
    DirectorySilent,
    Looks,
    LooksClosed,
    NoAnswer,
    TooManyLooks,
)

SOON_S = 0.05
LATE_S = 30.0


class Dead:
    """A directory below which nothing answers until `mend`."""

    def __init__(self) -> None:
        self._mended = threading.Event()
        self._lock = threading.Lock()
        self.asked = 0

    def look(self) -> str:
        with self._lock:
            self.asked += 1
        assert self._mended.wait(LATE_S)
        return "late"

    def mend(self) -> None:
        self._mended.set()


class Watch:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def dead() -> Dead:
    return Dead()


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories for which a thread was told to look, whether it has come to that or not."""
    told: list[str] = []
    give = module._Thread.give

    def noting(thread: module._Thread, look: module._Look) -> None:
        told.append(look.directory.path)
        give(thread, look)

    monkeypatch.setattr(module._Thread, "give", noting)
    return told


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def silenced(looks: Looks, dead: Dead, path: str = "/dead") -> DirectorySilent:
    with pytest.raises(DirectorySilent) as caught:
        await looks.look(path, dead.look, within_s=SOON_S)
    return caught.value


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(LATE_S):
        while not is_true():  # noqa: ASYNC110  # what a thread does sets no event of the loop
            await asyncio.sleep(0)


async def test_a_look_gives_what_it_finds_and_raises_what_it_raises() -> None:
    looks = Looks()

    assert await looks.look("/code", lambda: "found") == "found"
    with pytest.raises(FileNotFoundError):
        await looks.look("/code", lambda: open("/nowhere/at/all").read())  # noqa: PTH123, SIM115
    looks.close()


async def test_what_would_end_the_loop_is_a_bug_of_the_look() -> None:
    looks = Looks()

    def leave() -> None:
        raise SystemExit

    with pytest.raises(RuntimeError, match="SystemExit"):
        await looks.look("/code", leave)
    looks.close()


async def test_a_directory_that_hangs_is_told_and_refused_at_once_then(dead: Dead) -> None:
    looks = Looks(elapsed=Watch())

    first = await silenced(looks, dead)
    again = await silenced(looks, dead)

    await until(lambda: dead.asked > 0)  # Its thread may come to it after it was given up.
    assert dead.asked == 1
    assert (first.code, first.data["directory"]) == ("UNAVAILABLE", "/dead")
    assert again.data["retry_after_s"] == FIRST_SILENCE_S
    assert (looks.silent(), looks.lost_threads()) == (1, 1)
    dead.mend()


async def test_the_log_calls_what_hangs_what_it_is(dead: Dead, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="mcp_agent_mail.looks")
    for looks in (Looks(), Looks(subject="an uncle's host")):
        await silenced(looks, dead)
    dead.mend()
    await until(lambda: looks.lost_threads() == 0)

    told = {(one.getMessage(), *one.__dict__["facts"]) for one in caplog.records}
    assert told >= {
        ("a directory does not answer", "directory", "lost_threads"),
        ("an uncle's host does not answer", "host", "lost_threads"),
        ("an uncle's host answers again", "host"),
    }


async def test_more_dead_directories_than_threads_do_not_stop_the_next_one(dead: Dead) -> None:
    looks = Looks(threads=2)
    for number in range(5):
        await silenced(looks, dead, f"/dead/{number}")

    assert await looks.look("/live", lambda: "found") == "found"
    dead.mend()


async def test_one_that_answers_again_is_asked_again(dead: Dead) -> None:
    looks = Looks()
    await silenced(looks, dead)

    dead.mend()
    await until(lambda: looks.lost_threads() == 0)

    assert await looks.look("/dead", lambda: "found") == "found"


async def test_a_mount_that_is_made_anew_is_found_though_the_old_looks_never_come_back(dead: Dead) -> None:
    watch = Watch()
    looks = Looks(elapsed=watch)
    for _ in range(LOST_OF_ONE - 1):
        await silenced(looks, dead)
        watch.now += 1_000.0

    found = [await looks.look("/dead", lambda: "mounted anew") for _ in range(3)]

    assert found == ["mounted anew"] * 3
    assert (looks.silent(), looks.lost_threads()) == (0, LOST_OF_ONE - 1)
    dead.mend()


async def test_after_pauses_some_threads_more_find_out_and_then_none(dead: Dead, begun: list[str]) -> None:
    watch = Watch()
    looks = Looks(elapsed=watch)
    for _ in range(LOST_OF_ONE + 2):
        await silenced(looks, dead)
        watch.now += 1_000.0

    assert begun == ["/dead"] * LOST_OF_ONE
    dead.mend()


async def test_when_very_many_hang_those_that_have_answered_before_are_still_looked_at(dead: Dead) -> None:
    looks = Looks()
    await looks.look("/known", lambda: "found")
    for number in range(LOST_OF_STRANGERS):
        await silenced(looks, dead, f"/dead/{number}")

    with pytest.raises(TooManyLooks):
        await looks.look("/stranger", lambda: "found")

    assert await looks.look("/known", lambda: "found") == "found"
    dead.mend()


async def test_a_directory_has_one_thread_at_a_time(dead: Dead, begun: list[str]) -> None:
    looks = Looks(threads=3)
    first = asyncio.ensure_future(looks.look("/slow", dead.look))
    second = asyncio.ensure_future(looks.look("/slow", lambda: "second"))
    await settled()
    await looks.look("/other", lambda: None)
    await settled()

    assert begun == ["/slow", "/other"]

    dead.mend()
    assert (await first, await second) == ("late", "second")


async def test_a_caller_that_leaves_frees_nobody_elses_place(dead: Dead, begun: list[str]) -> None:
    looks = Looks(threads=1)
    leaver = asyncio.ensure_future(looks.look("/slow", dead.look))
    await settled()
    before = asyncio.ensure_future(looks.look("/before", lambda: "found"))
    await settled()
    leaver.cancel()
    await asyncio.wait([leaver])
    after = asyncio.ensure_future(looks.look("/after", lambda: "found"))
    await settled()

    assert begun == ["/slow"]

    dead.mend()
    assert (await before, await after) == ("found", "found")


async def test_a_caller_that_leaves_late_takes_nothing_from_those_who_came_meanwhile(
    dead: Dead, begun: list[str]
) -> None:
    looks = Looks()

    async def come_meanwhile() -> str:
        # The look has ended, and its caller is woken after this task: so it leaves when this one has asked.
        await until(lambda: "/code" not in looks._directories)
        assert not first.done()
        return await looks.look("/code", dead.look)

    first = asyncio.ensure_future(looks.look("/code", lambda: "first"))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(come_meanwhile())
    assert await first == "first"
    third = asyncio.ensure_future(looks.look("/code", lambda: "third"))
    await settled()

    assert begun == ["/code", "/code"]

    dead.mend()
    assert (await second, await third) == ("late", "third")


async def test_a_thread_that_cannot_be_had_is_told_and_leaves_no_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(threads=1)

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refused)
        with pytest.raises(TooManyLooks) as caught:
            await looks.look("/code", lambda: "found")

    assert caught.value.data["retry_after_s"] > 0
    assert await looks.look("/code", lambda: "found") == "found"
    assert (looks.silent(), looks.lost_threads()) == (0, 0)


async def test_so_many_wait_and_no_more(dead: Dead, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    looks = Looks(threads=1)
    asked = [asyncio.ensure_future(looks.look(f"/slow/{number}", dead.look)) for number in range(4)]
    await settled()

    assert [one.done() for one in asked] == [False, False, False, True]
    assert isinstance(asked[3].exception(), TooManyLooks)

    dead.mend()
    assert await asyncio.gather(*asked[:3]) == ["late"] * 3


async def test_who_gets_no_thread_in_time_is_told(dead: Dead) -> None:
    looks = Looks(threads=1)
    slow = asyncio.ensure_future(looks.look("/slow", dead.look, within_s=LATE_S))
    await settled()

    with pytest.raises(TooManyLooks):
        async with asyncio.timeout(LATE_S / 2):
            await looks.look("/other", lambda: "found", within_s=SOON_S)

    dead.mend()
    assert await slow == "late"


async def test_beyond_so_many_lost_threads_nothing_is_looked_at(dead: Dead, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOST_AT_MOST", 2)
    looks = Looks()
    await looks.look("/known", lambda: "found")
    await silenced(looks, dead, "/dead/0")
    still = await looks.look("/known", lambda: "found")
    await silenced(looks, dead, "/dead/1")

    with pytest.raises(TooManyLooks):
        await looks.look("/known", lambda: "found")

    assert still == "found"
    dead.mend()


async def test_of_those_that_have_answered_the_latest_are_remembered(
    dead: Dead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ANSWERED_REMEMBERED", 1)
    monkeypatch.setattr(module, "LOST_OF_STRANGERS", 1)
    looks = Looks()
    await looks.look("/earlier", lambda: "found")
    await looks.look("/later", lambda: "found")
    await silenced(looks, dead)

    with pytest.raises(TooManyLooks):
        await looks.look("/earlier", lambda: "found")

    assert await looks.look("/later", lambda: "found") == "found"
    dead.mend()


async def test_one_that_falls_silent_takes_no_place_among_those_that_have_answered(
    dead: Dead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ANSWERED_REMEMBERED", 2)
    monkeypatch.setattr(module, "LOST_OF_STRANGERS", 2)
    looks = Looks()
    await looks.look("/first", lambda: "found")
    await looks.look("/dead/0", lambda: "found")
    await silenced(looks, dead, "/dead/0")
    await looks.look("/last", lambda: "found")
    await silenced(looks, dead, "/dead/1")

    assert await looks.look("/first", lambda: "found") == "found"
    dead.mend()


async def test_the_end_waits_for_no_thread(dead: Dead) -> None:
    looks = Looks()
    hanging = asyncio.ensure_future(looks.look("/dead", dead.look))
    await until(lambda: dead.asked == 1)

    looks.close()

    with pytest.raises(LooksClosed):
        await hanging
    with pytest.raises(LooksClosed):
        await looks.look("/live", lambda: "found")
    dead.mend()


class GitGaveUp(NoAnswer):
    """As whoever runs a program with a limit of its own."""


async def test_what_ended_itself_for_want_of_an_answer_is_silent_for_whoever_waits_and_whoever_comes(
    begun: list[str],
) -> None:
    watch = Watch()
    looks = Looks(elapsed=watch)
    release = threading.Event()

    def give_up() -> str:
        assert release.wait(LATE_S)
        raise GitGaveUp("Git did not answer within 10 s.")

    asked = [asyncio.ensure_future(looks.look("/archive", give_up)) for _ in range(5)]
    await settled()
    release.set()
    told = await asyncio.gather(*asked, return_exceptions=True)
    with pytest.raises(DirectorySilent) as late:
        await looks.look("/archive", lambda: "found")

    assert [type(one) for one in told] == [GitGaveUp, *[DirectorySilent] * 4]
    assert (late.value.message, late.value.data["retry_after_s"]) == ("Git did not answer within 10 s.", 10)
    assert (begun, looks.silent(), looks.lost_threads()) == (["/archive"], 1, 0)
    assert await looks.look("/other", lambda: "found") == "found"

    watch.now = FIRST_SILENCE_S
    assert await looks.look("/archive", lambda: "found") == "found"
    assert looks.silent() == 0
    looks.close()
