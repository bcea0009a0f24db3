from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.archive import conversion
from mcp_agent_mail.archive.conversion import CONVERSION_NOTE, VERSION_NOTE
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import Message
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.protocol import CareFailed, Committed, Converted
from tests.archive_harness import ArchiveHarness, Killed, git, killed_at, open_archive_harness, sealed_seqs, version_1
from tests.features.archiving.leases import Held

MAILS = 30
ROUNDS = 60


@dataclass
class Old:
    """A project whose archive is of version 1: mail, some with blind copies, receipts, leases live, ended, and back."""

    harness: ArchiveHarness
    held: Held
    blue: Agent
    red: Agent
    mails: list[Message]

    @property
    def project(self) -> Project:
        return self.held.project

    @property
    def path(self) -> Path:
        return self.harness.path(self.project)

    @property
    def version(self) -> int:
        """As the branch has it."""
        return int(json.loads(git(self.path, "show", "main:archive.json"))["format"])

    def files(self) -> list[str]:
        return git(self.path, "ls-tree", "-r", "--name-only", "main").splitlines()

    def is_whole(self) -> bool:
        """Of this version, in Git and in the work tree, which Git finds clean."""
        return (self.path / VERSION_NOTE).exists() and not git(self.path, "status", "--porcelain")

    def work(self, fault_hook: FaultHook = no_fault) -> None:
        """A new process, until it has nothing more to do."""
        with self.harness.drain(fault_hook) as drain:
            drain.resume()
            self.settle(drain)

    def work_untidy(self) -> None:
        """As `work`, where Git finds something of a person's."""
        with self.harness.drain() as drain:
            drain.resume()
            for _ in range(ROUNDS):
                self.harness.tidy(drain)
                self.harness.clock.step(3)
                if (self.path / VERSION_NOTE).exists():
                    return

    def commit_pending(self) -> None:
        """In a new process, and the index after it."""
        with self.harness.drain() as drain:
            self.commit(drain)
            self.harness.clock.step(3)
            self.harness.tidy(drain)

    def commit(self, drain: Drain) -> None:
        """What is pending, once the first event has waited for company."""
        drain.step()
        self.harness.clock.step(1)
        drain.step()

    def settle(self, drain: Drain) -> None:
        for _ in range(ROUNDS):
            drain.step()
            self.harness.clock.step(3)
            self.harness.tidy(drain)
            if self.is_whole():
                return
        raise AssertionError(self.harness.reports[-5:])


def make_old(harness: ArchiveHarness) -> Old:
    held = Held(harness)
    red, green = (harness.add_agent(held.project, name) for name in ("RedStone", "GreenField"))
    mails = []
    harness.converts = False
    with version_1(), harness.drain() as drain:
        for number in range(MAILS):
            body = f"body {number}" + "\n" * (number % 3)
            blind = [green] if number % 5 == 0 else []
            mails.append(harness.send(held.agent, [red], bcc=blind, subject="Plan", body=body))
            if number % 10 == 0:
                drain.step()
                harness.clock.step(1)
                drain.step()
        harness.read(held.project, red, mails[0])
        ended, again = held.hold("a/**"), held.hold("b/**")
        held.hold("c/**")
        held.end(ended)
        held.end(again)
        drain.step()
        harness.clock.step(1)
        drain.step()
        held.revive(again)
        drain.step()
        harness.clock.step(1)
        drain.step()
        harness.clock.step(3)
        harness.tidy(drain)
    harness.converts = True
    return Old(harness, held, held.agent, red, mails)


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Old]:
    monkeypatch.setattr(conversion, "FOLDERS_AT_ONCE", 3)
    with open_archive_harness(tmp_path) as harness:
        yield make_old(harness)


def test_an_archive_of_version_1_is_gone_on_with_and_found_true(old: Old) -> None:
    old.harness.converts = False
    with old.harness.drain() as drain:
        old.harness.send(old.blue, [old.red], subject="More")
        old.commit(drain)

    assert not old.harness.tx.outbox.pending(old.project.id)
    assert old.version == 1
    assert {path.split("/")[3] for path in old.files() if path.startswith("messages/")} == {"0"}
    assert old.harness.verify().findings == ()


def test_it_is_converted_in_one_commit_and_its_history_is_kept(old: Old) -> None:
    before, seqs = old.files(), sealed_seqs(old.path)
    commits = int(git(old.path, "rev-list", "--count", "main"))

    old.work()

    after = old.files()
    assert old.version == 2
    assert len(after) == len(before)
    assert int(git(old.path, "rev-list", "--count", "main")) == commits + 1
    assert git(old.path, "log", "-1", "--format=%s").strip() == "archive: format 2 (was 1)"
    assert sealed_seqs(old.path) == [*seqs, seqs[-1]]
    assert {path.split("/")[3] for path in after if path.startswith("messages/")} == {"0-499"}
    assert old.harness.verify().findings == ()
    mail = next(path for path in after if path.startswith("messages/") and path.endswith(f"__{old.mails[0].id}.md"))
    assert len(git(old.path, "log", "--follow", "--format=%h", "--", mail).split()) == 2
    git(old.path, "fsck", "--strict")


def test_every_body_stands_in_its_file_with_one_newline_more(old: Old) -> None:
    old.work()

    texts = [path.read_text() for path in sorted((old.path / "messages").rglob("*.md"))]
    bodies = sorted(text.partition("\n---\n")[2] for text in texts)
    assert bodies == sorted(mail.body_md + "\n" for mail in old.mails)


def test_copies_of_one_mail_share_one_file_and_nothing_is_left_at_the_old_places(old: Old) -> None:
    old.work()

    shared = next(old.path.glob(f"messages/*/*/*/*__{old.mails[1].id}.md"))
    copy = next(old.path.glob(f"agents/RedStone/inbox/*/*/*/*__{old.mails[1].id}.md"))
    assert shared.stat().st_ino == copy.stat().st_ino
    assert not [path for path in old.path.rglob("0") if ".git" not in path.parts]


def test_it_is_announced_once_and_not_begun_again(old: Old) -> None:
    old.work()
    told = [report for report in old.harness.reports if isinstance(report, Converted)]
    old.work()

    assert [report.is_done for report in told] == [False, True]
    assert [report for report in old.harness.reports if isinstance(report, Converted)] == told


def test_mail_that_comes_meanwhile_is_committed_between_two_parts(old: Old) -> None:
    sent: list[FailPoint] = []

    def send(reached: FailPoint) -> None:
        if reached in (FailPoint.CONVERSION, FailPoint.CONVERSION_SHOWN) and len(sent) < 3:
            sent.append(reached)

    with old.harness.drain(send) as drain:
        drain.resume()
        count = 0
        for _ in range(ROUNDS):
            drain.step()
            if count < len(sent):
                count = len(sent)
                old.harness.send(old.blue, [old.red], subject="Meanwhile", body=f"{count}")
            old.harness.clock.step(1)
            if old.is_whole() and not old.harness.tx.outbox.pending(old.project.id):
                break

    assert count >= 2
    assert old.harness.verify().findings == ()
    assert sum("meanwhile" in path for path in old.files() if path.startswith("messages/")) == count


@pytest.mark.parametrize(
    "point",
    [
        FailPoint.CONVERSION,
        FailPoint.BEFORE_IMPORT,
        FailPoint.AFTER_IMPORT,
        FailPoint.CONVERSION_SHOWN,
        FailPoint.INDEX_REFRESH,
        FailPoint.INDEX_REPLACE,
        FailPoint.INDEX_REFRESHED,
    ],
)
@pytest.mark.parametrize("nth", [1, 2])
def test_killed_anywhere_it_is_true_and_the_next_process_goes_on(old: Old, point: FailPoint, nth: int) -> None:
    commits = int(git(old.path, "rev-list", "--count", "main"))
    left = nth

    def die(reached: FailPoint) -> None:
        nonlocal left
        left -= reached is point
        if reached is point and left == 0:
            raise Killed

    try:
        old.work(die)
    except Killed:
        assert old.version in (1, 2)
        assert old.harness.verify().findings == ()
    old.harness.send(old.blue, [old.red], subject="After")
    old.work()
    old.commit_pending()

    assert old.version == 2
    assert old.harness.verify().findings == ()
    assert int(git(old.path, "rev-list", "--count", "main")) == commits + 2
    assert not [path for path in old.path.rglob("0") if ".git" not in path.parts]
    assert not (old.path / CONVERSION_NOTE).exists()


def test_a_conversion_that_nobody_heard_of_is_no_other_store_s_commit(old: Old) -> None:
    old.harness.unmarked = True
    with old.harness.drain() as drain:
        drain.resume()
        old.harness.send(old.blue, [old.red], subject="Unheard")
        old.commit(drain)
        old.settle(drain)
    old.harness.unmarked = False
    old.harness.reports.clear()

    with old.harness.drain() as drain:
        old.harness.send(old.blue, [old.red], subject="Heard")
        old.commit(drain)

    assert old.harness.failures == []
    told = [report.commit.summary for report in old.harness.reports if isinstance(report, Committed)]
    assert told[-1].endswith("| Heard")
    assert old.harness.verify().findings == ()


def test_what_is_lost_at_both_places_is_missing_however_far_the_conversion_is(old: Old) -> None:
    with pytest.raises(Killed):
        old.work(killed_at(FailPoint.CONVERSION_SHOWN))
    with pytest.raises(Killed):
        old.work(killed_at(FailPoint.CONVERSION_SHOWN))
    lost = next(old.path.glob(f"messages/*/*/*/*__{old.mails[3].id}.md"))
    lost.unlink()

    (finding,) = old.harness.verify().findings
    assert (finding.check, finding.problem) == ("work tree", "missing")


def test_a_file_that_changes_while_the_work_tree_follows_shows_its_newest_content(old: Old) -> None:
    with pytest.raises(Killed):
        old.work(killed_at(FailPoint.AFTER_IMPORT))
    old.held.revive(old.held.hold("d/**"))
    old.work()
    old.commit_pending()

    assert old.harness.verify().findings == ()
    assert not list(old.path.glob("file_reservations/released/*/*/0"))


def test_files_and_folders_of_a_person_stay(old: Old) -> None:
    month = next((old.path / "messages").glob("*/*"))
    (month / "0" / "mine.txt").write_text("mine")
    (old.path / "NOTES.md").write_text("notes")
    git(old.path, "add", "NOTES.md")
    git(old.path, "commit", "-q", "-m", "Notes", "--", "NOTES.md")

    old.work_untidy()

    assert (month / "0" / "mine.txt").read_text() == "mine"
    assert git(old.path, "show", "main:NOTES.md") == "notes"
    assert sorted(path.name for path in month.iterdir()) == ["0", "0-499"]
    assert old.harness.verify().findings == ()


def test_with_another_branch_checked_out_the_work_tree_is_left_alone(old: Old) -> None:
    git(old.path, "switch", "-q", "-c", "mine")
    old.work_untidy()

    assert old.version == 2
    assert [path.name for path in (old.path / "messages").glob("*/*/*")] == ["0"]
    git(old.path, "switch", "-q", "main")
    assert [path.name for path in (old.path / "messages").glob("*/*/*")] == ["0-499"]
    assert old.harness.verify().findings == ()


def test_what_fails_is_told_holds_no_mail_up_and_is_tried_again_later(old: Old) -> None:
    def fail(reached: FailPoint) -> None:
        if reached is FailPoint.CONVERSION:
            raise OSError("no room")

    with old.harness.drain(fail) as drain:
        drain.resume()
        old.harness.tidy(drain)
        old.harness.send(old.blue, [old.red], subject="More")
        old.commit(drain)

    (told,) = [report for report in old.harness.reports if isinstance(report, CareFailed)]
    assert told.message == "cannot convert the archive to the new format: no room"
    assert old.harness.failures == []
    assert not old.harness.tx.outbox.pending(old.project.id)
    assert (old.version, old.harness.verify().findings) == (1, ())


def test_an_archive_of_a_version_to_come_is_not_written_to(old: Old) -> None:
    content = json.loads((old.path / "archive.json").read_text()) | {"format": 3}
    (old.path / "archive.json").write_text(json.dumps(content))
    git(old.path, "commit", "-q", "-m", "Newer", "--", "archive.json")
    with old.harness.drain() as drain:
        old.harness.send(old.blue, [old.red])
        old.commit(drain)

    (failed,) = old.harness.failures
    assert "version 3" in failed.message
    assert "newer program" in failed.hint
