from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.archive.notes.thread_pages import THREADS_NOTE, read_thread_note
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.pages import rounds
from mcp_agent_mail.store.mail.thread_pages import ThreadPages
from tests.archive_harness import LONG, ArchiveHarness, open_archive_harness

PAGE = "messages/threads/plan.md"


@dataclass(frozen=True, slots=True)
class Desk:
    harness: ArchiveHarness
    app: Project
    blue: Agent
    red: Agent

    def send(self, thread_id: str | None = "plan", subject: str = "Plan") -> None:
        self.harness.send(self.blue, [self.red], subject=subject, thread_id=thread_id)

    def commit(self, drain: Drain) -> None:
        """Long enough after the last commit, and not so long that a round is due."""
        for _ in range(2):
            self.harness.clock.step(1)
            drain.step()

    def page(self, path: str = PAGE) -> str:
        return (self.harness.path(self.app) / path).read_text()

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.harness.path(self.app)), *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout

    def written(self, path: str = PAGE) -> int:
        """In how many commits."""
        return len(self.git("log", "--format=%h", "main", "--", path).split())

    def findings(self) -> list[tuple[str, str, str | None]]:
        return [(one.check, one.problem, one.path) for one in self.harness.verify().findings]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_archive_harness(tmp_path) as harness:
        app = harness.add_project("/code/app")
        yield Desk(harness, app, harness.add_agent(app, "BlueLake"), harness.add_agent(app, "RedStone"))


def test_a_page_comes_with_its_mail_and_then_once_a_minute_with_all_that_came(desk: Desk) -> None:
    with desk.harness.drain() as drain:
        desk.send(subject="One")
        desk.commit(drain)
        assert (desk.written(), "One" in desk.page()) == (1, True)
        for subject in ("Two", "Three"):
            desk.send(subject=subject)
            desk.commit(drain)
        assert desk.written() == 1

        desk.harness.clock.step(60)
        desk.harness.tidy(drain)
        desk.harness.clock.step(5)
        desk.harness.tidy(drain)  # and Git's index, once it is quiet

    assert desk.written() == 2
    assert [subject in desk.page() for subject in ("One", "Two", "Three")] == [True] * 3
    assert desk.git("log", "-1", "--format=%s", "main").strip() == "archive: pages of 1 thread"
    assert (desk.findings(), desk.git("status", "--porcelain")) == ([], "")


def test_what_is_due_is_written_at_a_stop(desk: Desk) -> None:
    with desk.harness.drain() as drain:
        for subject in ("One", "Two"):
            desk.send(subject=subject)
            desk.commit(drain)
        assert "Two" not in desk.page()

        drain.flush(Micros(desk.harness.clock() + int(LONG * SECOND)))

    assert "Two" in desk.page()
    assert desk.findings() == []


def test_what_was_due_when_the_archiver_was_killed_is_written_after_the_next_start(desk: Desk) -> None:
    with desk.harness.drain() as drain:
        for subject in ("One", "Two"):
            desk.send(subject=subject)
            desk.commit(drain)
        desk.harness.clock.step(5)
        desk.harness.tidy(drain)  # Git's index: nothing else is unfinished
    assert "Two" not in desk.page()
    assert desk.findings() == []

    with desk.harness.drain() as drain:
        drain.resume()
        desk.harness.tidy(drain)
        assert "Two" not in desk.page()  # not a minute has passed
        desk.harness.clock.step(60)
        desk.harness.tidy(drain)

    assert "Two" in desk.page()
    assert desk.findings() == []


@pytest.mark.parametrize("point", [FailPoint.BEFORE_IMPORT, FailPoint.AFTER_IMPORT, FailPoint.BEFORE_MARK])
def test_a_kill_in_the_commit_loses_no_page(desk: Desk, point: FailPoint) -> None:
    desk.send()
    desk.harness.archive_until_killed(point)

    desk.harness.archive()

    assert (desk.written(), desk.findings()) == (1, [])
    note = read_thread_note(desk.harness.path(desk.app))
    assert note is not None
    assert note.written.seq == desk.harness.tx.outbox.highest_seq()


def test_verify_finds_a_page_that_differs_is_missing_or_is_nobodys(desk: Desk) -> None:
    desk.send()
    desk.send("other")
    desk.harness.archive()
    pages = desk.harness.path(desk.app) / "messages" / "threads"
    (pages / "plan.md").write_text("# forged\n")
    (pages / "other.md").rename(pages / "strange.md")
    desk.git("add", "-A")
    desk.git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "as if it were ours")
    tip = desk.git("rev-parse", "main").strip()
    desk.harness.connection.execute("UPDATE commits SET hexsha = ? WHERE id = (SELECT max(id) FROM commits)", (tip,))
    note = desk.harness.path(desk.app) / THREADS_NOTE
    read = read_thread_note(desk.harness.path(desk.app))
    assert read is not None
    note.write_text(note.read_text().replace(read.written.hexsha, tip))

    assert desk.findings() == [
        ("archive", "missing", "messages/threads/other.md"),
        ("archive", "different", "messages/threads/plan.md"),
        ("archive", "unexpected", "messages/threads/strange.md"),
    ]


def test_threads_from_before_there_were_pages_get_theirs_with_their_next_mail(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ThreadPages, "render", lambda *_: None)
    desk.send()
    desk.send("other")
    desk.harness.archive()
    monkeypatch.undo()
    (desk.harness.path(desk.app) / THREADS_NOTE).unlink()
    assert desk.findings() == []

    desk.send(subject="Later")
    desk.harness.archive()

    assert "Later" in desk.page()
    assert desk.written("messages/threads/other.md") == 0
    assert desk.findings() == []


def test_pages_without_a_note_are_compared_and_the_stale_ones_written_anew(desk: Desk) -> None:
    desk.send(subject="One")
    with desk.harness.drain() as drain:
        desk.commit(drain)
        desk.send(subject="Two")
        desk.commit(drain)
    assert "Two" not in desk.page()
    (desk.harness.path(desk.app) / THREADS_NOTE).unlink()

    desk.harness.archive()

    assert "Two" in desk.page()
    assert desk.findings() == []


def test_a_page_that_cannot_be_made_keeps_no_mail_out_of_git(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise ValueError("no page")

    monkeypatch.setattr(ThreadPages, "render", fail)
    desk.send()

    assert desk.harness.archive() == 0
    assert {(one.part, one.message) for one in desk.harness.failures} == {("pages of threads", "no page")}
    monkeypatch.undo()
    desk.harness.clock.step(LONG)
    desk.harness.archive()
    assert (desk.written(), desk.findings()) == (1, [])


def test_a_round_takes_several_commits_where_pages_are_large_and_the_next_takes_what_it_had_no_room_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "MOST_DUE", 4)
    monkeypatch.setattr(rounds, "MOST_BYTES", 1)
    monkeypatch.setattr(rounds, "_LOOKED_AT_ONCE", 2)
    with desk.harness.together():
        for number in range(10):
            desk.send(f"t{number}")

    desk.harness.archive()

    assert len(list((desk.harness.path(desk.app) / "messages" / "threads").iterdir())) == 10
    assert len(desk.git("log", "--format=%h", "main", "--", "messages/threads").split()) == 10
    assert desk.findings() == []


def test_the_message_that_a_thread_is_named_by_is_on_its_page(desk: Desk) -> None:
    desk.send(None, subject="Root")
    desk.harness.archive()
    desk.send("1", subject="Answer")

    desk.harness.archive()

    page = desk.page("messages/threads/1.md")
    assert page.index("## Message 1: Root") < page.index("## Message 2: Answer")
    assert desk.findings() == []
