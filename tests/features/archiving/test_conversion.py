from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.archive import conversion
from mcp_agent_mail.archive.known_version import CONVERSION_NOTE
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.archive_format import versions
from mcp_agent_mail.features.archiving import drain as draining
from mcp_agent_mail.features.archiving.protocol import Committed, Converted
from tests.archive_harness import (
    ArchiveHarness,
    Killed,
    fill,
    git,
    killed_at,
    open_archive_harness,
    sealed_seqs,
    version_1,
)
from tests.features.archiving.old_archives import BLOCKS, ROUNDS, Fails, Old, copy_old, make_old


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Old:
    """Made once, since that takes longer than most tests do with a copy."""
    with pytest.MonkeyPatch.context() as small:
        small.setattr(versions, "BLOCK", 10)
        with open_archive_harness(tmp_path_factory.mktemp("old")) as harness:
            return make_old(harness)


@pytest.fixture
def old(made: Old, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Old]:
    """In many parts."""
    monkeypatch.setattr(conversion, "FOLDERS_AT_ONCE", 3)
    monkeypatch.setattr(versions, "BLOCK", 10)
    subprocess.run(["cp", "-a", f"{made.harness.root}/.", str(tmp_path)], check=True)
    with open_archive_harness(tmp_path) as harness:
        yield copy_old(made, harness)


def test_an_archive_of_version_1_is_gone_on_with_and_found_true(old: Old) -> None:
    old.harness.converts = False
    with old.harness.drain() as drain:
        old.harness.send(old.blue, [old.red], subject="More")
        old.commit(drain)

    assert not old.harness.tx.outbox.pending(old.project.id)
    assert old.version == 1
    assert {path.split("/")[3] for path in old.files() if path.startswith("messages/")} == {"0", "1", "2", "3"}
    assert old.harness.verify().findings == ()


def test_it_is_converted_in_one_commit_and_its_history_is_kept(old: Old) -> None:
    before, seqs = old.files(), sealed_seqs(old.path)
    commits = int(git(old.path, "rev-list", "--count", "main"))

    old.work()

    after = old.files()
    assert (old.version, len(after)) == (2, len(before))
    assert int(git(old.path, "rev-list", "--count", "main")) == commits + 1
    assert git(old.path, "log", "-1", "--format=%s").strip() == "archive: format 2 (was 1)"
    assert sealed_seqs(old.path) == [*seqs, seqs[-1]]
    assert {path.split("/")[3] for path in after if path.startswith("messages/")} == BLOCKS
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
    old.work()

    assert [report.is_done for report in old.harness.reports if isinstance(report, Converted)] == [False, True]


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
    lost = next(old.path.glob(f"messages/*/*/0/*__{old.mails[3].id}.md"))
    lost.unlink()

    (finding,) = old.harness.verify().findings
    assert (finding.check, finding.problem) == ("work tree", "missing")


def test_a_file_that_changes_while_the_work_tree_follows_shows_its_newest_content(old: Old) -> None:
    with old.harness.drain() as drain:
        drain.resume()
        while old.version == 1:
            drain.step()
        old.held.revive(old.ended)
        old.commit(drain)
        assert (old.path / CONVERSION_NOTE).exists()
        assert old.harness.verify().findings == ()
        old.settle(drain)

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
    assert sorted(path.name for path in month.iterdir()) == ["0", *sorted(BLOCKS)]
    assert old.harness.verify().findings == ()


def test_with_another_branch_checked_out_the_work_tree_is_left_alone(old: Old) -> None:
    git(old.path, "switch", "-q", "-c", "mine")
    old.work_untidy()

    assert old.version == 2
    assert {path.name for path in (old.path / "messages").glob("*/*/*")} == {"0", "1", "2", "3"}
    git(old.path, "switch", "-q", "main")
    assert {path.name for path in (old.path / "messages").glob("*/*/*")} == BLOCKS
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

    (told,) = [report for report in old.harness.reports if isinstance(report, Converted) and report.problem]
    assert told.problem == (
        "cannot convert the archive to the new format: no room. "
        "It is tried again after 5 minutes; mail goes on in the former format."
    )
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


def test_one_archive_after_the_other_is_converted_and_those_with_the_newest_mail_first(
    harness: ArchiveHarness, tmp_path: Path
) -> None:
    harness.converts = False
    with version_1(), harness.drain() as drain:
        for name in ("oldest", "older", "newest"):
            fill(harness, tmp_path / name)
            drain.step()
            harness.clock.step(1)
            drain.step()
            harness.clock.step(3)
            harness.tidy(drain)
    harness.converts = True

    with harness.drain() as drain:
        drain.resume()
        for _ in range(ROUNDS // 3):
            drain.step()
            harness.clock.step(3)
            harness.tidy(drain)

    told = [(report.project, report.is_done) for report in harness.reports if isinstance(report, Converted)]
    order = [slug for slug, is_done in told if is_done]
    assert told == [(slug, is_done) for slug in order for is_done in (False, True)]
    # Two are looked at side by side, and either of them may be the first.
    assert len(order) == 3
    assert "oldest" in order[-1]
    assert harness.verify().findings == ()


def test_a_drain_that_somebody_waits_for_converts_nothing(old: Old) -> None:
    old.harness.converts = False
    with old.harness.drain() as drain:
        drain.resume()
        old.harness.tidy(drain)

    assert old.version == 1
    assert not [report for report in old.harness.reports if isinstance(report, Converted)]


def test_a_commit_of_version_1_that_nobody_marked_is_recognised_after_the_conversion_too(old: Old) -> None:
    old.harness.unmarked, old.harness.converts = True, False
    with old.harness.drain() as drain:
        old.harness.send(old.blue, [old.red], subject="AlreadyGone")
        old.commit(drain)
    old.harness.unmarked, old.harness.converts = False, True

    old.work()

    assert old.harness.failures == []
    assert not old.harness.tx.outbox.pending(old.project.id)
    assert old.harness.verify().findings == ()


@pytest.mark.parametrize("unmarked", [False, True])
def test_what_a_program_of_before_commits_to_a_converted_archive_is_brought_to_this_version(
    old: Old, unmarked: bool
) -> None:
    old.work()
    old.harness.unmarked = unmarked
    old.go_on_as_before()
    old.harness.unmarked = False
    written = [path for path in old.files() if path.endswith("former__31.md")]

    old.work()

    assert len(written) == 3
    assert not set(written) & set(old.files())
    assert old.harness.failures == []
    assert old.harness.verify().findings == ()


def test_verify_says_what_becomes_of_what_a_program_of_before_has_written(old: Old) -> None:
    old.work()
    old.go_on_as_before()

    findings = [found for found in old.harness.verify().findings if found.problem == "unexpected"]
    assert len(findings) == 4
    assert {found.next_step for found in findings} == {
        "start the server: it moves what an earlier version has written here to its new place"
    }


def test_what_failed_and_was_forgotten_for_others_is_tried_again_by_itself(
    old: Old, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "MOST_KEPT", 2)
    fails = Fails()
    with old.harness.drain(fails) as drain:
        drain.resume()
        while not fails.has_failed:
            old.harness.tidy(drain)
        for number in range(3):
            project = old.harness.add_project(f"/code/other{number}")
            old.commit(drain)
            assert not old.harness.tx.outbox.pending(project.id)
            old.harness.clock.step(3)
            old.harness.tidy(drain)
        is_kept = old.project.id in drain._kept
        old.harness.tidy(drain)
        before = old.version
        old.harness.clock.step(301)
        old.settle(drain)

    assert (is_kept, before, old.version) == (False, 1, 2)


def test_a_clock_that_was_set_back_puts_another_try_off_for_no_longer(old: Old) -> None:
    fails = Fails()
    with old.harness.drain(fails) as drain:
        drain.resume()
        while not fails.has_failed:
            old.harness.tidy(drain)
        old.harness.clock.step(-7_200)
        old.harness.tidy(drain)
        old.harness.clock.step(301)
        old.settle(drain)

    assert old.version == 2


def test_its_index_follows_at_once_however_busy_the_archive_is(old: Old) -> None:
    with old.harness.drain() as drain:
        drain.resume()
        old.harness.send(old.blue, [old.red], subject="Busy")
        old.commit(drain)
        while not any(isinstance(report, Converted) and report.is_done for report in old.harness.reports):
            drain.step()
        old.harness.tidy(drain)

    assert old.is_whole()
