"""Which tables must be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.domain.importing.refusals import UnknownLayout
from mcp_agent_mail.facades.importers.sources import open_source
from tests.facades.importers.mcp_agent_mail.one_store import database_of, read_whole

_MOST = "CREATE TABLE projects (id); CREATE TABLE agents (id, project_id, name); CREATE TABLE messages (id, sender_id);"


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ("CREATE TABLE letters (id)", "no table `projects`; it has letters"),
        (_MOST, "its messages lack project_id, subject, body_md; they have id, sender_id"),
    ],
)
def test_an_unknown_layout_is_refused_with_what_was_found(schema: str, found: str, tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3", schema=schema):
        pass

    with pytest.raises(UnknownLayout, match=found), open_source("mcp-agent-mail", tmp_path / "s.sqlite3"):
        pass


def test_an_empty_store_is_one(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3"):
        pass

    whole = read_whole(tmp_path / "s.sqlite3")

    assert (whole.projects, whole.agents, whole.messages, whole.left) == ([], {}, [], {})
