"""The index follows the branch beside commits and beside people, and whatever ends that early leaves the old one."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.archive import index as index_module
from mcp_agent_mail.archive.index import IndexLocked, is_index_torn
from mcp_agent_mail.archive.ownership import ArchiveOwner, OutboxPosition
from mcp_agent_mail.archive.recovery import is_unfinished
from mcp_agent_mail.archive.repository import ArchiveRepository, GitRun
from mcp_agent_mail.archive.steps import InSteps
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.commit_message import CommitText
from tests.archive_harness import Killed, git, killed_at, refresh

AT = Micros(1_800_000_000 * SECOND)
OWNER = ArchiveOwner(store_id="this-store", author_name="mcp-agent", author_email="mcp-agent@example.com")
NOTE = "messages/note.md"
LONG_S = 60.0
PLACES = [FailPoint.INDEX_REFRESH, FailPoint.INDEX_REPLACE, FailPoint.INDEX_REFRESHED]


@dataclass
class Desk:
    path: Path
    fault_hook: FaultHook = no_fault
    seq: int = 0

    def open(self, *, git_timeout_s: float = LONG_S) -> ArchiveWriter:
        claim = OutboxPosition(highest_seq=OutboxSeq(1_000))
        return ArchiveWriter(
            self.path, OWNER, claim, fault_hook=self.fault_hook, git_run=GitRun(timeout_s=git_timeout_s)
        )

    def commit(self, writer: ArchiveWriter, content: bytes = b"one", path: str = NOTE) -> None:
        self.seq += 1
        identity = {"archive.json": b'{"store_id": "this-store"}'} if writer.is_empty else {}
        text = CommitText(subject=f"archive: {self.seq}", agents=(), last_seq=OutboxSeq(self.seq))
        writer.commit(identity | {path: content}, text, AT)

    def status(self) -> str:
        return git(self.path, "status", "--porcelain")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "app")


@pytest.fixture
def writer(desk: Desk) -> ArchiveWriter:
    opened = desk.open()
    desk.commit(opened)
    return opened


def go_on_to(work: InSteps, count: int) -> None:
    """Until so many steps have ended, and the next one has begun."""
    for _ in range(count):
        step = work._step
        assert step is not None
        step.wait(LONG_S)
        assert not step.is_running()
        work._go_on(step)  # `is_running` would pass over a step that ends at once


def test_a_commit_that_comes_meanwhile_is_made_at_once_and_refreshed_by_the_next(
    desk: Desk, writer: ArchiveWriter
) -> None:
    work = writer.start_refresh()
    desk.commit(writer, b"two")
    desk.commit(writer, b"more", "messages/more.md")
    work.finish(LONG_S)
    still_needed, still_noted = writer.needs_refresh, is_unfinished(desk.path)

    refresh(writer)

    assert (still_needed, still_noted) == (True, True)
    assert (writer.needs_refresh, is_unfinished(desk.path)) == (False, False)
    assert desk.status() == ""


@pytest.mark.parametrize("steps", range(6))
def test_a_commit_between_any_two_steps_is_never_taken_for_refreshed(
    desk: Desk, writer: ArchiveWriter, steps: int
) -> None:
    work = writer.start_refresh()
    go_on_to(work, steps)
    desk.commit(writer, b"two")
    work.finish(LONG_S)

    assert writer.needs_refresh
    assert is_unfinished(desk.path)
    refresh(writer)
    assert desk.status() == ""


@pytest.mark.parametrize("steps", range(6))
def test_ended_between_any_two_steps_it_leaves_an_index_that_git_reads_and_the_next_one_completes(
    desk: Desk, writer: ArchiveWriter, steps: int
) -> None:
    refresh(writer)
    desk.commit(writer, b"two")
    before = git(desk.path, "ls-files", "--stage")
    work = writer.start_refresh()
    go_on_to(work, steps)

    work.kill("a stop")

    with pytest.raises(GitFailed, match="cannot refresh the index: a stop"):
        work.finish(LONG_S)
    after = git(desk.path, "ls-files", "--stage")
    assert after == before or "messages/note.md" in after
    assert not (desk.path / ".git/index.lock").exists()
    assert (writer.needs_refresh, is_unfinished(desk.path)) == (True, True)
    refresh(writer)
    assert desk.status() == ""


def test_a_person_can_stage_while_it_runs_and_what_they_staged_stays(desk: Desk, writer: ArchiveWriter) -> None:
    refresh(writer)
    desk.commit(writer, b"two")
    work = writer.start_refresh()
    go_on_to(work, 2)
    (desk.path / "NOTES.md").write_text("mine")
    git(desk.path, "add", "NOTES.md")

    work.finish(LONG_S)

    assert desk.status() == "A  NOTES.md\n"


def test_an_index_that_never_stands_still_is_left_to_whoever_changes_it(desk: Desk, writer: ArchiveWriter) -> None:
    refresh(writer)
    desk.commit(writer, b"two")
    work = writer.start_refresh()
    number = 0
    while work.is_running():
        number += 1
        (desk.path / "NOTES.md").write_text(f"{number}")
        git(desk.path, "add", "NOTES.md")

    with pytest.raises(IndexLocked):
        work.finish(LONG_S)
    assert git(desk.path, "show", ":NOTES.md") == f"{number}"
    assert not (desk.path / ".git/index.lock").exists()


def test_a_git_of_a_person_at_work_is_waited_for(desk: Desk, writer: ArchiveWriter) -> None:
    (desk.path / ".git/index.lock").touch()

    with pytest.raises(IndexLocked) as refused:
        refresh(writer)

    assert str(desk.path / ".git/index.lock") in refused.value.hint
    assert (desk.path / ".git/index.lock").exists()


@pytest.mark.parametrize("point", PLACES)
def test_killed_anywhere_the_next_start_mends_it(desk: Desk, point: FailPoint) -> None:
    desk.fault_hook = killed_at(point)
    writer = desk.open()
    desk.commit(writer)
    with pytest.raises(Killed):
        refresh(writer)
    (desk.path / ".git/agent-mail/index.new").write_bytes(b"half")
    (desk.path / ".git/agent-mail/index.new.lock").write_bytes(b"half")
    desk.fault_hook = no_fault

    again = desk.open()
    refresh(again)

    assert not is_unfinished(desk.path)
    assert desk.status() == ""
    assert sorted(path.name for path in (desk.path / ".git/agent-mail").iterdir()) == ["indexed", "version"]


def test_a_loss_in_the_middle_is_noted_even_when_only_a_person_has_committed(desk: Desk, writer: ArchiveWriter) -> None:
    refresh(writer)
    (desk.path / "NOTES.md").write_text("mine")
    git(desk.path, "add", "NOTES.md")
    git(desk.path, "commit", "-q", "-m", "A note")
    desk.fault_hook = killed_at(FailPoint.INDEX_REPLACE)
    with pytest.raises(Killed):
        refresh(desk.open())
    desk.fault_hook = no_fault

    refresh(desk.open())

    assert desk.status() == ""


def test_a_git_that_hangs_is_ended_and_nothing_waits_for_it(
    desk: Desk, writer: ArchiveWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    double = tmp_path / "slow"
    double.mkdir()
    (double / "git").write_text(
        '#!/bin/sh\ncase "$*" in *update-index*) sleep 600;; esac\nPATH="${PATH#*:}" exec git "$@"\n'
    )
    (double / "git").chmod(0o755)
    impatient = desk.open(git_timeout_s=0.2)
    with monkeypatch.context() as slow:
        slow.setenv("PATH", f"{double}:{os.environ['PATH']}")
        with pytest.raises(GitFailed, match="took longer"):
            impatient.start_refresh().finish(LONG_S)

    assert impatient.needs_refresh
    refresh(writer)
    assert desk.status() == ""


TORN = [b"\0" * 45, b"\xff\xfe", b"", b"main 3", b"9" * 40 + b" 1"]


@pytest.mark.parametrize("torn", TORN)
def test_a_note_that_nobody_can_read_makes_the_index_be_built_anew(
    desk: Desk, writer: ArchiveWriter, torn: bytes
) -> None:
    refresh(writer)
    desk.commit(writer, b"two", "messages/more.md")
    (desk.path / ".git/agent-mail/indexed").write_bytes(torn)

    refresh(writer)

    assert desk.status() == ""
    assert writer.figures().files == 3


@pytest.mark.parametrize("torn", TORN)
@pytest.mark.parametrize("name", ["open", "months", "blocked"])
def test_no_other_note_that_nobody_can_read_keeps_the_archive_from_being_opened(
    desk: Desk, writer: ArchiveWriter, name: str, torn: bytes
) -> None:
    refresh(writer)
    (desk.path / ".git/agent-mail" / name).write_bytes(torn)
    (desk.path / NOTE).unlink()

    assert is_unfinished(desk.path)
    again = desk.open()
    refresh(again)
    desk.commit(again, b"two", "messages/more.md")
    refresh(again)

    assert (desk.path / "messages/more.md").read_bytes() == b"two"


def emptied(content: bytes) -> bytes:
    """Its header and its last entries stand; a loss of power left zeros where the folders it knows should be."""
    extension = content.index(b"TREE")
    return content[: extension + 8] + bytes(len(content) - extension - 28) + content[-20:]


@pytest.mark.parametrize(
    ("spoil", "is_read_by_git"),
    [
        (lambda _content: b"torn", False),
        (lambda _content: b"", False),
        (lambda content: content[:-1], True),
        (lambda content: content[:-20] + bytes(20), True),
        (lambda content: content[:12] + bytes([content[12] ^ 1]) + content[13:], True),
        (emptied, True),
    ],
    ids=["no index", "nothing", "cut off", "no checksum", "another time", "folders emptied"],
)
def test_an_index_that_is_not_as_git_wrote_it_is_torn_whether_git_reads_it_or_not(
    spoil: Callable[[bytes], bytes], is_read_by_git: bool, desk: Desk, writer: ArchiveWriter
) -> None:
    desk.commit(writer)
    refresh(writer)
    index = desk.path / ".git/index"
    whole = index.read_bytes()
    assert not is_index_torn(ArchiveRepository(desk.path))

    index.write_bytes(spoil(whole))

    look = subprocess.run(["git", "-C", desk.path, "ls-files"], capture_output=True, check=False)
    assert (look.returncode == 0) is is_read_by_git
    assert is_index_torn(ArchiveRepository(desk.path))


@pytest.mark.usefixtures("writer")
def test_no_index_is_not_torn_and_a_folder_in_its_place_is(desk: Desk) -> None:
    index = desk.path / ".git/index"
    assert not is_index_torn(ArchiveRepository(desk.path))

    index.mkdir()

    assert is_index_torn(ArchiveRepository(desk.path))


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_a_whole_index_is_not_torn_whatever_git_names_objects_by(algorithm: str, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--template=", f"--object-format={algorithm}", tmp_path], check=True)
    (tmp_path / "note").touch()
    git(tmp_path, "add", "note")

    assert not is_index_torn(ArchiveRepository(tmp_path))


def test_an_index_of_any_size_is_torn_and_not_read(desk: Desk, writer: ArchiveWriter) -> None:
    desk.commit(writer)
    refresh(writer)
    os.truncate(desk.path / ".git/index", 1 << 40)

    assert is_index_torn(ArchiveRepository(desk.path))


def test_what_keeps_an_index_from_being_read_just_now_does_not_make_it_torn(
    desk: Desk, writer: ArchiveWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.commit(writer)
    refresh(writer)

    def refuse(_folder: int, _name: str) -> AbstractContextManager[int]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(index_module, "opened_file", refuse)

    with pytest.raises(OSError, match="Too many open files"):
        is_index_torn(ArchiveRepository(desk.path))
