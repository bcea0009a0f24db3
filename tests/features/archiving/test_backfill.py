"""What archives were not told of when it happened is queued later, a few at a time and once."""

from __future__ import annotations

import json

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import AliasKind, Project
from mcp_agent_mail.features.archiving.backfill import has_backfill, queue_backfill
from tests.archive_harness import ArchiveHarness, git


@pytest.fixture
def app(harness: ArchiveHarness) -> Project:
    return harness.add_project("/code/app")


@pytest.fixture
def blue(harness: ArchiveHarness, app: Project) -> Agent:
    return harness.add_agent(app, "BlueLake")


def note_formerly(harness: ArchiveHarness, blue: Agent, count: int) -> None:
    """Notices as they were before archives kept them."""
    with harness.together():
        for _ in range(count):
            message = harness.send(blue, [blue])
            harness.tx.overdue.note(message.id, harness.clock(), "log")
            harness.connection.execute("INSERT INTO unqueued_notices VALUES (?)", (message.id,))


def test_notices_of_former_times_are_queued_a_few_at_a_time_and_once(
    harness: ArchiveHarness, app: Project, blue: Agent
) -> None:
    note_formerly(harness, blue, 3)
    harness.archive()
    before = harness.verify().findings

    queue_backfill(harness.tx, notices=2)
    queued = harness.tx.outbox.count_pending(app.id)
    queue_backfill(harness.tx)
    queue_backfill(harness.tx)

    assert queued == 2
    assert harness.tx.outbox.count_pending(app.id) == 3
    assert not has_backfill(harness.tx)
    assert harness.archive() == 0
    assert (before, harness.verify().findings) == ((), ())
    files = git(harness.path(app), "ls-tree", "-r", "--name-only", "main", "agents/BlueLake/overdue").split()
    assert len(files) == 3


def test_a_notice_that_is_changed_in_git_is_found(harness: ArchiveHarness, blue: Agent) -> None:
    note_formerly(harness, blue, 1)
    queue_backfill(harness.tx)
    harness.archive()
    harness.connection.execute("UPDATE overdue_notices SET escalation = NULL")

    (finding,) = harness.verify().findings

    assert "agents/BlueLake/overdue/" in str(finding)


def test_a_directory_that_became_known_comes_into_the_projects_file_with_its_time(
    harness: ArchiveHarness, app: Project
) -> None:
    harness.archive()
    harness.tx.aliases.add(app.id, "/tmp/feature", AliasKind.PATH, Micros(0))
    harness.tx.backfill.note_aliases(app.id)
    harness.tx.backfill.note_aliases(app.id)
    before = harness.verify().findings

    queue_backfill(harness.tx)
    queue_backfill(harness.tx)
    harness.archive()

    written = json.loads(git(harness.path(app), "show", "main:archive.json"))["project"]["aliases"]
    assert written == [{"alias": "/tmp/feature", "created_ts": "1970-01-01T00:00:00.000000+00:00", "kind": "path"}]
    assert len(git(harness.path(app), "log", "--format=%s", "main").splitlines()) == 2
    assert (before, harness.verify().findings) == ((), ())


def test_a_store_without_such_rows_queues_nothing(harness: ArchiveHarness, app: Project) -> None:
    harness.archive()

    queue_backfill(harness.tx)

    assert not has_backfill(harness.tx)
    assert harness.tx.outbox.count_pending(app.id) == 0
