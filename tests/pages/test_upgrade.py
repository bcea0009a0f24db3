"""The how-to about upgrades: what an older server says of a newer store, word for word, and that nothing is changed."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.pages.blocks import ROOT
from tests.served import Served

PAGE = ROOT / "docs" / "how-to" / "upgrade.md"


def generally(text: str) -> list[str]:
    """Its lines without their numbers and paths, blank ones left out."""
    general = re.sub(r"\d+", "N", re.sub(r"/\S*/", "DIR/", text))
    return [line for line in general.splitlines() if line.strip()]


def test_an_older_server_refuses_a_newer_store_in_the_words_of_the_page(tmp_path: Path) -> None:
    with Served(tmp_path / "root") as server, server.connect() as connection:
        connection.call("ensure_project", human_key="/code/app")
    with closing(sqlite3.connect(server.database)) as newer:
        (known,) = newer.execute("PRAGMA user_version").fetchone()
        newer.execute(f"PRAGMA user_version = {known + 1}")
        newer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = server.database.read_bytes()

    refused = server.am("serve", "--port", "0")
    command = server.am("projects", "list")

    page = PAGE.read_text()
    (told,) = re.findall(r"\n\n```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert f"has schema {known + 1}; this version of mcp-agent-mail knows schemas up to {known}." in refused.stderr
    assert f".before-{known + 1:04}" in refused.stderr
    assert generally(refused.stderr) == generally(told)
    assert (refused.returncode, command.returncode) == (1, 69)
    assert "exit code is 1" in page
    assert "end with 69" in page
    assert server.database.read_bytes() == before
