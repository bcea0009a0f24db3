"""Messages that the archive alone has left."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from mcp_agent_mail.core.clock import Micros, parse_time
from mcp_agent_mail.facades.importers.mcp_agent_mail.mail_files import message_key
from tests.facades.importers.mcp_agent_mail.one_store import read_whole
from tests.facades.importers.mcp_store import make_mcp_store


def _file(project: Path, name: str, **fields: object) -> None:
    front = {"from": "A", "to": ["B"], "subject": name, "created": "2026-03-01T08:00:00Z", **fields}
    place = project / "messages" / "2026" / "03"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.md").write_text(f"---json\n{json.dumps(front)}\n---\n\nbody\n")


def test_files_without_a_number_have_that_of_their_name_or_are_known_by_their_path(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "app"
    _file(project, "stamp__one__12")
    _file(project, "odd")
    _file(project, "copy__12", id=12, subject="stamp__one__12")
    (project / "messages" / "2026" / "03" / "broken__9.md").write_text("nothing")

    whole = read_whole(tmp_path)

    numbered = message_key(12, Micros(1772352000_000_000), "stamp__one__12")
    assert sorted(one.key for one in whole.messages) == [numbered, "app/messages/2026/03/odd.md"]
    assert (whole.left["archive files"], whole.left["messages"]) == (1, 1)


def test_what_was_purged_from_the_database_comes_from_the_archive_as_read(tmp_path: Path) -> None:
    made = make_mcp_store(tmp_path / "source", messages=12)
    with closing(sqlite3.connect(made.database)) as connection, connection:
        connection.execute("DELETE FROM messages WHERE id = 1")

    whole = read_whole(made.database, made.archive)

    (first,) = (one for one in whole.messages if one.subject == "Subject 0")
    assert whole.messages[0] is first
    assert first.recipients
    assert {copy.read_ts for copy in first.recipients} == {first.created_ts}
    assert any(note.startswith("3 messages are in the archive and no longer") for note in whole.notes)


def test_a_file_without_a_time_has_that_of_its_name_or_of_its_month(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "app"
    _file(project, "2026-03-04T05-06-07Z__one__1", created=None)
    _file(project, "odd__2", created="yesterday")

    whole = read_whole(tmp_path)

    assert [one.created_ts for one in whole.messages] == [
        parse_time("2026-03-01T00:00:00Z"),
        parse_time("2026-03-04T05:06:07Z"),
    ]
    assert any(note.startswith("2 files in the archive have no time") for note in whole.notes)


def test_files_that_are_no_messages_are_named(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "app"
    _file(project, "one__1")
    (project / "messages" / "2026" / "03" / "half__2.md").write_text('---json\n{"from": "A"')

    whole = read_whole(tmp_path)

    assert "projects/app/messages/2026/03/half__2.md cannot be read as a message." in whole.notes
