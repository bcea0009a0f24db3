"""What no mail of a project carries any more leaves its archive; what is adopted or renewed brings what it carries."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.archive.recovery import LACKED_NOTE
from mcp_agent_mail.features.archiving.renew import renew_archive
from mcp_agent_mail.features.projects.adopt import adopt
from mcp_agent_mail.store.database import Store
from tests.archive_harness import open_archive_harness
from tests.features.archiving.carriers import PICTURE, PLAN, Desk, open_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_archive_harness(tmp_path) as harness:
        yield open_desk(harness)


def test_a_purge_frees_what_no_other_mail_of_the_project_carries(desk: Desk) -> None:
    gone = desk.send(PLAN, PICTURE, to=desk.green)
    desk.harness.read(desk.lib, desk.green, gone)
    desk.send(PICTURE)
    desk.harness.archive()
    plan, picture = desk.content(PLAN), desk.content(PICTURE)
    desk.purge(gone)
    assert desk.findings() == []  # what Git has yet to catch up with

    assert desk.harness.archive() == 0

    assert desk.shown() == {picture.path: PICTURE}
    assert desk.shown(desk.lib) == {}
    assert desk.in_git() == [picture.path]
    assert desk.in_git(desk.lib) == []
    assert sorted(desk.in_git(revision="main~1")) == sorted([picture.path, plan.path])
    (tombstone,) = (desk.harness.path(desk.app) / "messages").rglob(f"*__{gone.id}.md")
    assert '"attachments": [],' in tombstone.read_text()
    assert desk.harness.tx.attachments.kept_bytes(desk.app.id) == len(PICTURE)
    assert desk.harness.tx.attachments.kept_bytes(desk.lib.id) == 0
    assert (desk.findings(), desk.status(), desk.status(desk.lib)) == ([], "", "")


def test_what_was_freed_and_is_carried_again_in_the_same_batch_stays(desk: Desk) -> None:
    gone = desk.send(PLAN)
    desk.harness.read(desk.app, desk.red, gone)
    desk.harness.archive()
    desk.purge(gone)
    desk.send(PLAN)

    assert desk.harness.archive() == 0

    assert desk.shown() == {desk.content(PLAN).path: PLAN}
    assert desk.findings() == []


def test_what_is_freed_while_it_is_lacked_is_lacked_no_more(desk: Desk) -> None:
    gone = desk.send(PLAN)
    desk.lose(PLAN)
    desk.harness.read(desk.app, desk.red, gone)
    desk.harness.archive()
    desk.purge(gone)

    assert desk.harness.archive() == 0

    assert not (desk.harness.path(desk.app) / LACKED_NOTE).exists()
    assert desk.findings() == []


async def test_an_adoption_brings_what_the_adopted_mail_carries(desk: Desk) -> None:
    harness = desk.harness
    harness.send(desk.green, [harness.add_agent(desk.lib, "Yellow")], carried=[PLAN, PICTURE])
    desk.send(PICTURE)
    harness.archive()

    async with Store(harness.database) as store:
        adopted = await adopt(store, harness.settings, desk.lib.slug, desk.app.slug)

    assert adopted.failed == []
    assert desk.shown() == {desk.content(data).path: data for data in (PLAN, PICTURE)}
    assert (desk.findings(), desk.status()) == ([], "")
    assert harness.tx.attachments.kept_bytes(desk.app.id) == len(PLAN) + len(PICTURE)


async def test_a_renewed_archive_has_them_again(desk: Desk) -> None:
    desk.send(PLAN)
    desk.harness.archive()
    shutil.rmtree(desk.harness.path(desk.app))

    async with Store(desk.harness.database) as store:
        renewed = await renew_archive(store, desk.harness.settings, desk.app)

    assert renewed.failed == []
    assert desk.shown() == {desk.content(PLAN).path: PLAN}
    assert desk.findings() == []


async def test_renewed_on_an_older_copy_it_keeps_nothing_that_was_freed_since(desk: Desk, tmp_path: Path) -> None:
    gone = desk.send(PLAN)
    desk.harness.read(desk.app, desk.red, gone)
    desk.send(PICTURE)
    desk.harness.archive()
    older = tmp_path / "older"
    shutil.copytree(desk.harness.path(desk.app), older, symlinks=True)
    desk.purge(gone)
    desk.harness.archive()
    shutil.rmtree(desk.harness.path(desk.app))
    older.rename(desk.harness.path(desk.app))

    async with Store(desk.harness.database) as store:
        renewed = await renew_archive(store, desk.harness.settings, desk.app)

    assert renewed.failed == []
    assert desk.shown() == {desk.content(PICTURE).path: PICTURE}
    assert desk.findings() == []
