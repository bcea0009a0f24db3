"""What a store tells without a server."""

from __future__ import annotations

import pytest

from mcp_agent_mail.cli.top.store_look import look_into_store
from mcp_agent_mail.core.errors import AgentMailError
from tests.cli.conftest import Post


def test_agents_mail_and_the_backlog_are_told(stopped_post: Post) -> None:
    found = look_into_store(stopped_post.server.database)

    assert (found.server, found.projects, found.agents, found.unread, found.leases) == ("none", 1, 2, 1, 0)
    assert {(row.name, row.unread, row.listening) for row in found.rows} == {
        ("BlueLake", 1, None),
        ("RedStone", 0, None),
    }
    assert found.pending_events is not None


def test_a_damaged_database_is_refused(stopped_post: Post) -> None:
    stopped_post.server.database.write_bytes(b"no database at all")

    with pytest.raises(AgentMailError):
        look_into_store(stopped_post.server.database)
