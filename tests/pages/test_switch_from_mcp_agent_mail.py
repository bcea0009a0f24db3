"""The how-to about switching from mcp_agent_mail, typed line by line against a real server."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.facades.importers.mcp_store import make_mcp_store
from tests.facades.importers.untouched import state_of
from tests.pages.blocks import ROOT, blocks_of
from tests.pages.links import broken_links
from tests.pages.reader import Reader

PAGE = ROOT / "docs" / "how-to" / "switch-from-mcp-agent-mail.md"


def test_every_line_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        made = make_mcp_store(tmp_path / "made", messages=60)
        database, archive = (
            reader.home / "mcp_agent_mail" / "storage.sqlite3",
            reader.home / ".mcp_agent_mail_git_mailbox_repo",
        )
        database.parent.mkdir()
        shutil.copy2(made.database, database)
        shutil.copytree(made.archive, archive)
        before = state_of(database, archive)
        reader.types('git clone -q "$REPOSITORY" mail && cd mail')
        _, looked, applied, again, added = (reader.types(text) for _, text in blocks_of(PAGE, "sh"))

    assert "applied\tno" in looked
    assert "applied\tyes" in applied
    for line in ("count\tmessages\t76\t76\t0\t0", "/data/one/app", "result\tclean"):
        assert line in applied
    assert all(one["added"] == 0 for one in json.loads(again)["counts"].values())
    assert f"mcp add --transport http agent-mail http://127.0.0.1:{reader.port}/mcp" in added
    assert state_of(database, archive) == before


def test_its_links_lead_somewhere() -> None:
    assert broken_links(PAGE) == []
