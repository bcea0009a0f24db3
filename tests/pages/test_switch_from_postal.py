"""The how-to about switching from postal, typed line by line against a real server."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.facades.postal.test_processes import CURL_CHECKS, CURL_SENDS
from tests.pages.blocks import ROOT, blocks_of
from tests.pages.reader import Reader

PAGE = ROOT / "docs" / "how-to" / "switch-from-postal.md"


def test_every_line_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        reader.types('git clone -q "$REPOSITORY" mail && cd mail')
        _old_mail(reader.home / "mail" / "db" / "messages.sqlite")
        _, added, talk, doors, _ = (reader.types(text) for _, text in blocks_of(PAGE, "sh"))
        waiting = reader.types(CURL_CHECKS.replace("curl ", "curl -sS ").replace("localhost:8000", "127.0.0.1:8765"))

    assert f"mcp add --transport http postal http://127.0.0.1:{reader.port}/agents/claude-code/mcp" in added
    sent, message = (json.loads(line) for line in talk.splitlines())
    assert (message["id"], message["from"], message["content"]) == (sent, "alice", "ping")
    lines = [line.split("\t") for line in doors.splitlines()]
    assert lines[0][:2] == ["postal", "open"]
    assert [line[:2] for line in lines[-2:]] == [["alice", "postal"], ["bob", "postal"]]
    assert json.loads(waiting)["content"] == "still unread"


def _old_mail(file: Path) -> None:
    """A store of that system's, with a message that was taken and one that was not."""
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as old, old:
        old.execute(
            "CREATE TABLE messages (id TEXT PRIMARY KEY, from_agent TEXT, to_agent TEXT, content TEXT,"
            " created TIMESTAMP DEFAULT CURRENT_TIMESTAMP, done INTEGER DEFAULT 0)"
        )
        rows = [("old-1", "alice", "bob", "taken there", 1), ("old-2", "alice", "bob", "still unread", 0)]
        old.executemany("INSERT INTO messages (id, from_agent, to_agent, content, done) VALUES (?, ?, ?, ?, ?)", rows)


def test_its_curl_lines_are_those_of_the_systems_own_page() -> None:
    page = PAGE.read_text(encoding="utf-8").replace("curl -sS ", "curl ").replace("127.0.0.1:8765", "localhost:8000")

    assert CURL_SENDS.strip() in page
    assert CURL_CHECKS.strip() in page
