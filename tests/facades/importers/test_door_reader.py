"""Names of the small systems: one agent each, by its first sighting."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import parse_time
from mcp_agent_mail.domain.importing.refusals import SourceUnreadable
from mcp_agent_mail.facades.importers import door_reader
from mcp_agent_mail.facades.importers.sources import open_source
from tests.facades.importers.small_sources import make_postal


def test_names_that_differ_in_letter_case_are_one_with_its_whole_span(tmp_path: Path) -> None:
    path = make_postal(tmp_path / "m.sqlite", messages=0)
    with closing(sqlite3.connect(path)) as connection, connection:
        for external_id, sender, created in (("1", "Bob", "2026-03-02"), ("2", "BOB", "2026-03-01")):
            connection.execute("INSERT INTO messages VALUES (?, ?, 'amy', 'b', ?, 0)", (external_id, sender, created))

    with open_source("postal", path) as reader:
        (project,) = reader.projects()
        agents = {agent.key: agent for agent in reader.agents()}

    assert project.created_ts == parse_time("2026-03-01")
    assert agents["bob"].name == "BOB"
    assert (agents["bob"].created_ts, agents["bob"].last_active_ts) == (
        parse_time("2026-03-01"),
        parse_time("2026-03-02"),
    )


def test_more_names_than_are_kept_in_mind_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_reader, "MOST_AGENTS", 2)
    path = make_postal(tmp_path / "m.sqlite")

    with open_source("postal", path) as reader, pytest.raises(SourceUnreadable, match="more than 2 names"):
        list(reader.agents())
