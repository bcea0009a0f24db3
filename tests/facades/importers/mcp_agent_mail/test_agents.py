"""The records of agents."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.domain.agents import AttachmentsPolicy, ContactPolicy
from tests.facades.importers.mcp_agent_mail.one_store import add_people, database_of, read_whole


def test_rows_of_one_name_are_one_agent_and_counted(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3") as connection:
        add_people(connection, "BlueLake", "bluelake", "RedStone")

    whole = read_whole(tmp_path / "s.sqlite3")

    assert [one.name for one in whole.agents.values()] == ["BlueLake", "RedStone"]
    assert whole.left["agents"] == 1


def test_what_a_row_says_is_kept_and_words_that_are_none_are_nothing(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3") as connection:
        add_people(connection, "A", "B")
        connection.execute(
            "UPDATE agents SET contact_policy = 'block_all', attachments_policy = 'file', registration_token = 't', "
            "last_active_ts = '2026-03-02', task_description = 'Parser' WHERE id = 1"
        )
        connection.execute("UPDATE agents SET contact_policy = 'odd', inception_ts = NULL WHERE id = 2")

    one, other = read_whole(tmp_path / "s.sqlite3").agents.values()

    assert (one.contact_policy, one.attachments_policy) == (ContactPolicy.BLOCK_ALL, AttachmentsPolicy.FILE)
    assert (one.token_hash, one.task, one.program) == (token_hash("t"), "Parser", "codex")
    assert one.last_active_ts > one.created_ts
    assert (other.contact_policy, other.token_hash) == (None, None)
    # Without a time of its own it is as old as its project.
    assert other.created_ts == one.created_ts
