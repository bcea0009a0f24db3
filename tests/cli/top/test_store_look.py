"""What a store tells without a server."""

from __future__ import annotations

import pytest

from mcp_agent_mail.cli.top import store_look
from mcp_agent_mail.cli.top.full_look import MOST_SHOWN
from mcp_agent_mail.cli.top.store_look import look_into_store
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.store.oversight import project_counts
from tests.cli.conftest import Post
from tests.cli.top.crowds import add_agents, add_leases, add_projects


def test_agents_mail_and_the_backlog_are_told(stopped_post: Post) -> None:
    found = look_into_store(stopped_post.server.database)

    assert (found.server, found.projects, found.agents, found.unread, found.leases) == ("none", 1, 2, 1, 0)
    assert {(row.name, row.unread, row.listening) for row in found.rows} == {
        ("BlueLake", 1, None),
        ("RedStone", 0, None),
    }
    assert found.pending_events is not None


def test_what_is_not_shown_is_counted(stopped_post: Post) -> None:
    database = stopped_post.server.database
    add_agents(database, 250)
    add_leases(database, 1_200)

    found = look_into_store(database)

    assert (found.agents, found.has_more_agents) == (252, False)
    assert (found.unread, found.has_more_unread) == (1, True)
    assert (found.leases, found.has_more_leases) == (1_200, False)
    assert len(found.rows) == MOST_SHOWN
    assert sum(row.leases for row in found.rows) == 1_200
    assert not any(row.has_more_leases for row in found.rows)


def test_more_leases_than_are_counted_are_said_to_be_more(stopped_post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    add_leases(stopped_post.server.database, 5)
    for module in (project_counts, store_look):
        monkeypatch.setattr(module, "MOST_COUNTED", 4)

    found = look_into_store(stopped_post.server.database)

    assert (found.leases, found.has_more_leases) == (4, True)


def test_projects_beyond_those_looked_at_are_counted(stopped_post: Post) -> None:
    database = stopped_post.server.database
    add_projects(database, 59)

    found = look_into_store(database)

    assert (found.projects, found.has_more_projects, found.projects_seen) == (60, False, 50)
    assert (found.has_more_agents, found.has_more_unread, found.has_more_leases) == (True, True, True)


def test_a_damaged_database_is_refused(stopped_post: Post) -> None:
    stopped_post.server.database.write_bytes(b"no database at all")

    with pytest.raises(AgentMailError):
        look_into_store(stopped_post.server.database)
