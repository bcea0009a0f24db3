from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.archive.notes.thread_pages import begun_at, write_thread_note
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.renew import renew_archive
from mcp_agent_mail.features.projects.adopt import adopt
from mcp_agent_mail.store.database import Store
from tests.archive_harness import git, open_archive_harness
from tests.features.archiving.carriers import Desk, open_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_archive_harness(tmp_path) as harness:
        yield open_desk(harness)


def page(desk: Desk, thread_id: str, project: Project | None = None) -> str:
    path = f"messages/threads/{thread_id}.md"
    root = desk.harness.path(project or desk.app)
    shown = (root / path).read_text()
    assert shown == git(root, "show", f"main:{path}")
    return shown


def test_a_purge_takes_the_text_off_the_page(desk: Desk) -> None:
    gone = desk.harness.send(desk.blue, [desk.red], body="a secret", thread_id="plan")
    desk.harness.read(desk.app, desk.red, gone)
    desk.harness.archive()
    assert "> a secret" in page(desk, "plan")
    desk.purge(gone)
    assert desk.findings() == []

    desk.harness.archive()

    assert "a secret" not in page(desk, "plan")
    assert "- Purged: " in page(desk, "plan")
    assert desk.findings() == []


async def test_an_adoption_brings_the_pages_of_what_is_adopted_and_says_names_as_they_are_now(desk: Desk) -> None:
    harness = desk.harness
    harness.send(desk.green, [desk.blue], thread_id="both")
    harness.send(desk.green, [harness.add_agent(desk.lib, "Yellow")], thread_id="theirs")
    harness.archive()
    assert f"- From: Green@{desk.lib.slug}" in page(desk, "both")
    desk.send()
    harness.archive()
    reported = harness.tx.outbox.highest_seq()
    write_thread_note(harness.path(desk.app), begun_at(reported))  # as if its mail were older than pages

    async with Store(harness.database) as store:
        adopted = await adopt(store, harness.settings, desk.lib.slug, desk.app.slug)

    assert adopted.failed == []
    assert "- From: Green\n" in page(desk, "both")
    assert "- To: Yellow\n" in page(desk, "theirs")
    assert (desk.findings(), desk.status()) == ([], "")
    (harness.path(desk.app) / "messages/threads/theirs.md").write_text("# forged\n")
    assert desk.findings() != []  # it is known what stands there


async def test_a_renewed_archive_has_its_pages_again(desk: Desk) -> None:
    desk.harness.send(desk.blue, [desk.red], subject="Again", thread_id="plan")
    desk.harness.archive()
    shutil.rmtree(desk.harness.path(desk.app))

    async with Store(desk.harness.database) as store:
        await renew_archive(store, desk.harness.settings, desk.app)

    assert "## Message 1: Again" in page(desk, "plan")
    assert desk.findings() == []


def test_pages_belong_to_no_month_that_is_put_away(desk: Desk) -> None:
    desk.harness.send(desk.blue, [desk.red], thread_id="plan")
    desk.harness.archive()
    desk.harness.max_tracked_files = 1
    desk.harness.clock.step(100 * 86_400)
    desk.harness.send(desk.blue, [desk.red], thread_id="other")

    desk.harness.archive()

    root = desk.harness.path(desk.app)
    assert not list((root / "messages").glob("2027/01/*/*"))
    assert page(desk, "plan").count("## Message") == page(desk, "other").count("## Message") == 1
    assert (desk.findings(), desk.status()) == ([], "")


def test_the_last_state_is_there_when_a_clock_was_set_back(desk: Desk) -> None:
    with desk.harness.drain() as drain:
        for subject in ("One", "Two"):
            desk.harness.send(desk.blue, [desk.red], subject=subject, thread_id="plan")
            for _ in range(4):
                desk.harness.clock.step(1)
                drain.step()
            desk.harness.clock.now = Micros(desk.harness.clock.now - 3_600 * SECOND)

    assert ": Two\n" in page(desk, "plan")
