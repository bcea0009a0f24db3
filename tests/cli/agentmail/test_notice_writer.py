"""What is typed and when, by a clock of the test: the session and the server are scripted, the keys go to a `tmux` that
notes them. Beside real ones: `test_mailman_process.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.agentmail.door import DoorClient
from mcp_agent_mail.cli.agentmail.environment import DoorSettings
from mcp_agent_mail.cli.agentmail.notice_writer import NoticeClock, NoticeWriter
from mcp_agent_mail.cli.agentmail.tmux_windows import SessionWindows, TmuxSession, TmuxSilent
from mcp_agent_mail.core.running_server import NoAnswer

Answer = dict[str, Any] | NoAnswer
Captured = pytest.CaptureFixture[str]

GONE = "[mailman] the tmux session is gone\n"


class Journal:
    """What has happened, in its order: a file, since another process writes too."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()

    def note(self, words: str) -> None:
        with self._path.open("a") as file:
            file.write(f"{words}\n")

    def lines(self) -> list[str]:
        return self._path.read_text().splitlines()


class NotedClock(NoticeClock):
    """Time passes by being slept."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._now = 1_000_000.0

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._journal.note(f"sleep {seconds}")
        self._now += seconds


class ScriptedSession(TmuxSession):
    """Has these windows at one look after the other, None where tmux is silent, and is gone then. In `busy` something
    stands, and of `silent` tmux says nothing.
    """

    def __init__(self, looks: Sequence[Sequence[str] | None], busy: Sequence[str], silent: Sequence[str]) -> None:
        super().__init__({"TMUX": "/s,1,0", "PATH": os.environ["PATH"]})
        self._looks = iter(looks)
        self._busy = [_pane(name) for name in busy]
        self._silent = [_pane(name) for name in silent]

    def find_windows(self, project: str) -> SessionWindows | None:
        assert project == "/code"
        names = next(self._looks, [])
        if names is None:
            raise TmuxSilent("it did not answer in time")
        if not names:
            return None
        return SessionWindows(_pane(names[0]), [(_pane(name), "", name) for name in names])

    def is_free(self, pane: str) -> bool:
        if pane in self._silent:
            raise TmuxSilent("it did not answer in time")
        return pane not in self._busy


class ScriptedDoor(DoorClient):
    """Gives these answers, one after the other."""

    def __init__(self, answers: Iterable[Answer], journal: Journal) -> None:
        super().__init__(DoorSettings({"HOME": "/nowhere"}), starts=False)
        self._answers = iter(answers)
        self._journal = journal

    def ask(
        self, what: str, value: dict[str, Any], *, answers: str | None = None, within_s: float | None = None
    ) -> dict[str, Any]:
        assert answers == "mailboxes"
        assert within_s == value["wait_s"] + 10.0
        self._journal.note(f"{what} behind {value['seen']} for {value['wait_s']}")
        answer = next(self._answers)
        if isinstance(answer, NoAnswer):
            raise answer
        return answer


def _pane(name: str) -> str:
    """Of `a2` %2."""
    return f"%{name[1:]}"


def state(seen: str, *unread: str) -> dict[str, Any]:
    """What the server says once `seen` has happened: these are ready and have mail."""
    mailboxes = [{"name": name, "unread": 1, "status": "ready", "status_since": None} for name in unread]
    return {"seen": seen, "mailboxes": mailboxes}


def keys(name: str) -> list[str]:
    """The text, and Enter a second later."""
    send = f"-u send-keys -t {_pane(name)}"
    return [f"{send} -l Check your agentmail", "sleep 1.0", f"{send} Enter"]


Runs = Callable[..., list[str]]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs until the session is gone: what has happened by then."""
    journal = Journal(tmp_path / "journal")
    program = tmp_path / "tmux"
    program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/journal\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def run(
        looks: Sequence[Sequence[str] | None],
        asked: Iterable[Answer],
        listened: Iterable[Answer] = (),
        busy: Sequence[str] = (),
        silent: Sequence[str] = (),
    ) -> list[str]:
        session, clock = ScriptedSession(looks, busy, silent), NotedClock(journal)
        doors = ScriptedDoor(asked, journal), ScriptedDoor(listened, journal)
        assert NoticeWriter(session, "/code", *doors, clock).run() == 0
        return journal.lines()

    return run


ALL = ("a1", "a2", "a3")


def test_the_text_is_typed_and_enter_a_second_later_and_the_log_says_for_whom(runs: Runs, capfd: Captured) -> None:
    happened = runs([ALL], [state("s1", "a2")])

    assert happened == ["watch behind None for 0", *keys("a2")]
    assert capfd.readouterr().err == f"[mailman] a2 has unread mail\n{GONE}"


def test_new_mail_is_told_once_nothing_more_has_come_for_half_a_second(runs: Runs) -> None:
    happened = runs([ALL, ALL], [state("s1")], [state("s2", "a2"), state("s2", "a2")])

    assert happened == [
        "watch behind None for 0",
        "watch behind s1 for 10",
        "sleep 0.5",
        "watch behind None for 0",
        *keys("a2"),
    ]


def test_what_comes_together_is_told_together_and_once(runs: Runs) -> None:
    later = [state("s2", "a2"), state("s3", "a2", "a3"), state("s3", "a2", "a3"), state("s3", "a2", "a3")]

    happened = runs([ALL, ALL, ALL], [state("s1")], later)

    assert happened[2:-1] == [
        *["sleep 0.5", "watch behind None for 0"] * 2,
        *keys("a2"),
        *keys("a3"),
    ]
    assert happened[-1].startswith("watch behind s3")


def test_mail_that_never_ceases_is_told_of_all_the_same(runs: Runs) -> None:
    changing = (state(f"s{number}", "a2") for number in range(2, 99))

    happened = runs([ALL, ALL], [state("s1")], changing)

    assert happened.count("sleep 0.5") == 10
    assert happened[-3:] == keys("a2")


def test_a_window_that_is_closed_is_forgotten_and_told_anew_under_its_name(runs: Runs, capfd: Captured) -> None:
    """Within the minute in which one that stands is not told again."""
    closed = runs([ALL, ("a1", "a3"), ALL], [state("s1", "a2")], [state("s1"), state("s1", "a2")])

    assert closed.count(keys("a2")[0]) == 2
    assert capfd.readouterr().err == "[mailman] a2 has unread mail\n" * 2 + GONE


def test_a_window_that_stands_is_not_told_again_within_the_minute(runs: Runs) -> None:
    stood = runs([ALL, ALL, ALL], [state("s1", "a2")], [state("s1", "a2"), state("s1", "a2")])

    assert stood.count(keys("a2")[0]) == 1


def test_a_prompt_in_which_something_stands_is_looked_at_again_soon(runs: Runs, capfd: Captured) -> None:
    happened = runs([ALL, ALL], [state("s1", "a2")], [state("s1", "a2")], busy=["a2"])

    assert happened == ["watch behind None for 0", "watch behind s1 for 3"]
    assert capfd.readouterr().err == GONE


def test_a_server_that_does_not_answer_is_said_once_and_asked_less_and_less_often(runs: Runs, capfd: Captured) -> None:
    silent = NoAnswer("no server runs")

    happened = runs([ALL] * 7, [silent], [silent] * 4 + [state("s1"), silent])

    assert [one for one in happened if one.startswith("sleep")] == [
        *("sleep 0.5", "sleep 1.0", "sleep 2.0", "sleep 5.0", "sleep 5.0"),
        "sleep 0.5",
    ]
    assert capfd.readouterr().err == "[mailman] no server runs\n" * 2 + GONE


def test_a_tmux_that_stands_still_is_asked_again_and_said_once(runs: Runs, capfd: Captured) -> None:
    happened = runs([None, None, ALL, ALL], [state("s1", "a2")], [state("s1")])

    assert happened == ["sleep 5.0", "sleep 5.0", "watch behind None for 0", *keys("a2"), "watch behind s1 for 10"]
    assert capfd.readouterr().err == (
        f"[mailman] tmux says nothing: it did not answer in time\n[mailman] a2 has unread mail\n{GONE}"
    )


def test_a_window_of_which_tmux_says_nothing_is_looked_at_again_soon(runs: Runs, capfd: Captured) -> None:
    happened = runs([ALL, ALL], [state("s1", "a2")], [state("s1")], silent=["a2"])

    assert happened == ["watch behind None for 0", "watch behind s1 for 3"]
    assert capfd.readouterr().err == f"[mailman] tmux says nothing: it did not answer in time\n{GONE}"
