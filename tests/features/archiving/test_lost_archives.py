"""An archive whose whole folder is gone at a start comes back by itself; any other loss is left to a person."""

from __future__ import annotations

import shutil

import pytest

from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.backfill import LostArchives, find_lost
from mcp_agent_mail.features.archiving.renew import reopen_some
from mcp_agent_mail.store.database import Store
from tests.archive_harness import ArchiveHarness


@pytest.fixture
def app(harness: ArchiveHarness) -> Project:
    project = harness.add_project("/code/app")
    blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
    for _ in range(3):
        harness.read(project, red, harness.send(blue, [red]))
    harness.archive()
    return project


def agent_of(harness: ArchiveHarness, project: Project) -> Agent:
    agent = harness.tx.agents.find_by_name(project.id, "BlueLake")
    assert agent is not None
    return agent


async def renew(harness: ArchiveHarness) -> list[str]:
    looks = Looks(threads=1)
    async with Store(harness.database) as store:
        renewed = await LostArchives(store, harness.root, looks, events_at_once=2).renew(lambda: False)
    looks.close()
    return renewed


async def test_it_is_written_anew_also_by_an_archiver_that_has_seen_it_gone(
    harness: ArchiveHarness, app: Project
) -> None:
    shutil.rmtree(harness.path(app))
    harness.send(agent_of(harness, app), [agent_of(harness, app)])
    with harness.drain() as drain:
        drain.resume()
        for _ in range(3):
            drain.step()
            harness.clock.step(1.0)
        refused = [failed.message for failed in harness.failures]

        renewed = await renew(harness)
        again = await renew(harness)
        for _ in range(4):
            harness.clock.step(60.0)
            drain.step()
        is_begun = harness.path(app).exists()

    assert "holds no archive any more" in refused[0]
    assert (renewed, again, is_begun) == ([app.slug], [], True)
    assert harness.archive() == 0
    assert harness.verify().findings == ()
    assert harness.tx.outbox.backlog(harness.clock()).pending_events == 0


async def test_a_kill_in_the_middle_is_gone_on_with(harness: ArchiveHarness, app: Project) -> None:
    shutil.rmtree(harness.path(app))
    with harness.together():
        reopen_some(harness.tx, app, OutboxSeq(0), 3)
    harness.archive()
    is_begun = harness.path(app).exists()

    renewed = await renew(harness)

    assert not is_begun
    assert renewed == [app.slug]
    assert harness.archive() == 0
    assert harness.verify().findings == ()


def test_what_is_there_in_any_form_is_not_lost(harness: ArchiveHarness, app: Project) -> None:
    path = harness.path(app)
    found = [find_lost(harness.root, [app])]
    shutil.rmtree(path)
    found.append(find_lost(harness.root, [app]))
    path.symlink_to("/nowhere")
    found.append(find_lost(harness.root, [app]))
    path.unlink()
    path.mkdir()
    found.append(find_lost(harness.root, [app]))
    (harness.root / "moving" / path.name).mkdir(parents=True)
    path.rmdir()
    found.append(find_lost(harness.root, [app]))
    shutil.rmtree(harness.root / "moving")
    shutil.rmtree(path.parent)
    found.append(find_lost(harness.root, [app]))

    assert found == [[], [app], [], [], [], []]
