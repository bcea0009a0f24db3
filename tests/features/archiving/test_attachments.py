"""What mail carries is one file of every archive that has the mail, and keeps no mail out of Git."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.archive import worktree
from mcp_agent_mail.archive.contents import Contents
from mcp_agent_mail.archive.recovery import LACKED_NOTE, is_unfinished
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION
from mcp_agent_mail.features.archiving import batch_content
from mcp_agent_mail.store.mail.message_events import record_events
from tests.archive_harness import git, open_archive_harness, sealed_seqs, version_1
from tests.features.archiving.carriers import PICTURE, PLAN, Desk, open_desk
from tests.stored_contents import attached, content_path, keep_content

POINTS = [FailPoint.BEFORE_IMPORT, FailPoint.AFTER_IMPORT, FailPoint.BEFORE_MARK]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_archive_harness(tmp_path) as harness:
        yield open_desk(harness)


def test_each_archive_with_the_mail_has_what_it_carries(desk: Desk) -> None:
    desk.send(PLAN, PICTURE, to=desk.green)
    plan, picture = desk.content(PLAN), desk.content(PICTURE)

    assert desk.harness.archive() == 0

    for project in (desk.app, desk.lib):
        assert desk.shown(project) == {plan.path: PLAN, picture.path: PICTURE}
        assert desk.in_git(project) == sorted([plan.path, picture.path])
        assert git(desk.harness.path(project), "cat-file", "-s", f"main:{picture.path}").strip() == str(len(PICTURE))
        assert desk.status(project) == ""
    assert desk.findings() == []


def test_an_original_lies_beside_what_became_of_it(desk: Desk) -> None:
    shown, original = desk.content(PLAN), desk.content(PICTURE)
    message = desk.send(PLAN)
    with desk.harness.together():
        desk.harness.tx.attachments.drop(message.id, message.attachments)
        desk.harness.tx.attachments.add(message.id, [attached(shown, original=original)])
        record_events(desk.harness.tx, [message.id], None)

    assert desk.harness.archive() == 0

    assert desk.shown() == {shown.path: PLAN, original.path: PICTURE}
    assert desk.findings() == []


def test_the_copy_in_the_archive_is_nobody_elses_file(desk: Desk) -> None:
    desk.send(PLAN)
    content = desk.content(PLAN)
    desk.harness.archive()

    with (desk.harness.path(desk.app) / content.path).open("ab") as file:
        file.write(b"edited in place")

    assert content_path(desk.harness.root, content).read_bytes() == PLAN


def test_a_content_that_git_has_is_not_read_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    message = desk.send(PLAN)
    desk.harness.archive()
    desk.lose(PLAN)

    def read(*_: object) -> bool:
        raise AssertionError("Git has it")

    monkeypatch.setattr(Contents, "tell", read)
    with desk.harness.together():
        record_events(desk.harness.tx, [message.id], None)

    assert desk.harness.archive() == 0

    assert desk.told() == []
    assert not (desk.harness.path(desk.app) / LACKED_NOTE).exists()


def test_mail_whose_content_is_gone_is_in_git_and_that_is_told_and_found(desk: Desk) -> None:
    desk.send(PLAN, PICTURE)
    picture, plan = desk.content(PICTURE), desk.lose(PLAN)

    assert desk.harness.archive() == 0

    assert desk.shown() == {picture.path: PICTURE}
    assert desk.status() == ""
    assert set(desk.told()) == {("Failed", "attachments")}
    assert plan.path in desk.harness.failures[0].message
    assert desk.findings() == [
        ("archive", "missing", plan.path),
        ("attachments", "missing", str(content_path(desk.harness.root, plan))),
    ]


def test_what_was_lacked_is_brought_once_it_is_there_again(desk: Desk) -> None:
    desk.send(PLAN)
    plan = desk.lose(PLAN)
    with desk.harness.drain() as drain:
        drain.resume()
        drain.step()
        while desk.harness.tx.outbox.count_pending(desk.app.id):
            desk.harness.clock.step(1)
            desk.harness.tidy(drain)
        desk.harness.clock.step(5)
        desk.harness.tidy(drain)
        assert desk.shown() == {}

        desk.content(PLAN)
        desk.harness.clock.step(60)
        desk.harness.tidy(drain)

        assert desk.shown() == {plan.path: PLAN}
    subject = git(desk.harness.path(desk.app), "log", "-1", "--format=%s").strip()
    assert subject == "archive: 1 attachment brought later"
    assert sealed_seqs(desk.harness.path(desk.app))[-1] == sealed_seqs(desk.harness.path(desk.app))[-2]
    assert desk.told()[-1] == ("Recovered", "attachments")
    assert set(desk.told()[:-1]) == {("Failed", "attachments")}
    assert desk.findings() == []
    assert desk.harness.archive() == 0
    assert desk.status() == ""


def test_the_next_process_knows_what_is_lacked(desk: Desk) -> None:
    desk.send(PLAN)
    plan = desk.lose(PLAN)
    desk.harness.archive()
    assert is_unfinished(desk.harness.path(desk.app))
    desk.content(PLAN)

    desk.harness.archive()

    assert desk.shown() == {plan.path: PLAN}
    assert not is_unfinished(desk.harness.path(desk.app))
    assert desk.findings() == []


def test_later_mail_that_carries_what_is_lacked_brings_it(desk: Desk) -> None:
    desk.send(PLAN)
    plan = desk.lose(PLAN)
    desk.harness.archive()
    desk.send(PLAN)

    desk.harness.archive()

    assert desk.shown() == {plan.path: PLAN}
    assert not (desk.harness.path(desk.app) / LACKED_NOTE).exists()
    assert "brought later" not in git(desk.harness.path(desk.app), "log", "-1", "--format=%s")


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("is_lost", [False, True])
def test_cut_off_anywhere_it_is_gone_on_with(desk: Desk, point: FailPoint, is_lost: bool) -> None:
    desk.harness.archive()
    desk.send(PLAN, PICTURE)
    plan = desk.lose(PLAN) if is_lost else desk.content(PLAN)
    desk.harness.archive_until_killed(point)
    desk.harness.unmarked = False

    assert desk.harness.archive() == 0
    desk.content(PLAN)
    assert desk.harness.archive() == 0

    assert desk.shown() == {plan.path: PLAN, desk.content(PICTURE).path: PICTURE}
    assert desk.findings() == []
    assert desk.status() == ""


def test_a_commit_that_was_never_marked_is_known_though_its_content_came_later(desk: Desk) -> None:
    desk.harness.archive()
    desk.send(PLAN)
    desk.lose(PLAN)
    desk.harness.unmarked = True
    desk.harness.archive()
    desk.content(PLAN)
    desk.harness.archive()
    commits = sealed_seqs(desk.harness.path(desk.app))
    desk.harness.unmarked = False

    assert desk.harness.archive() == 0

    assert sealed_seqs(desk.harness.path(desk.app)) == commits
    assert desk.findings() == []


def test_a_file_that_an_unclean_stop_took_is_written_again_from_git(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.send(PLAN, PICTURE)
    desk.harness.archive_until_killed(FailPoint.BEFORE_MARK)
    picture, plan = desk.lose(PICTURE), desk.lose(PLAN)
    (desk.harness.path(desk.app) / picture.path).unlink()
    (desk.harness.path(desk.app) / plan.path).write_bytes(b"torn")

    def in_memory(*_: object) -> None:
        raise AssertionError("what is large is not read at once")

    monkeypatch.setattr(worktree.WorkTree, "put", in_memory)
    desk.harness.archive()

    assert desk.shown() == {picture.path: PICTURE, plan.path: PLAN}


def test_what_stands_in_the_way_is_told_and_written_once_it_is_gone(desk: Desk) -> None:
    plan = desk.content(PLAN)
    place = desk.harness.path(desk.app) / plan.path
    place.mkdir(parents=True)
    desk.send(PLAN)

    desk.harness.archive()
    assert ("Failed", "work tree") in desk.told()
    place.rmdir()
    desk.harness.archive()

    assert desk.shown() == {plan.path: PLAN}
    assert desk.findings() == []


def test_much_at_once_is_several_commits(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_content, "LARGE_BYTES", 100)
    desk.harness.archive()
    before = len(sealed_seqs(desk.harness.path(desk.app)))
    for number in range(4):
        desk.send(bytes([number]) * 60)

    assert desk.harness.archive() == 0

    assert len(sealed_seqs(desk.harness.path(desk.app))) == before + 4
    assert desk.findings() == []


def test_an_archive_of_version_1_has_them_and_keeps_them_when_it_is_converted(tmp_path: Path) -> None:
    with open_archive_harness(tmp_path) as harness, version_1():
        desk = open_desk(harness)
        harness.converts = False
        desk.send(PLAN)
        harness.archive()
    with open_archive_harness(tmp_path) as harness:
        desk.harness = harness
        assert '"format": 1' in git(harness.path(desk.app), "show", "main:archive.json")
        for _ in range(9):
            harness.archive()

        assert f'"format": {FORMAT_VERSION}' in git(harness.path(desk.app), "show", "main:archive.json")
        assert desk.shown() == {desk.content(PLAN).path: PLAN}
        assert desk.findings() == []


def test_they_stay_where_months_are_put_away(desk: Desk) -> None:
    desk.harness.max_tracked_files = 5
    desk.send(PLAN)
    desk.harness.archive()
    desk.harness.clock.step(100 * 86_400)
    desk.send(b"")
    desk.harness.archive()
    desk.send(PICTURE)
    desk.harness.archive()
    desk.harness.archive()

    assert not list((desk.harness.path(desk.app) / "messages").rglob("*__1.md"))
    assert set(desk.shown()) == {desk.content(data).path for data in (PLAN, b"", PICTURE)}
    assert desk.status() == ""
    assert desk.findings() == []


def test_an_archive_in_its_project_has_them_there(tmp_path: Path) -> None:
    with open_archive_harness(tmp_path / "store") as harness:
        harness.in_workspace = True
        (tmp_path / "code").mkdir()
        project = harness.add_project(str(tmp_path / "code"))
        blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
        harness.send(blue, [red], carried=[PLAN])

        assert harness.archive() == 0

        content = keep_content(harness.root, PLAN)
        assert (tmp_path / "code" / ".mcp-mail" / content.path).read_bytes() == PLAN
        assert harness.verify().findings == ()
