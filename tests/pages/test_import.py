"""The how-to about imports, typed line by line against a real server."""

from __future__ import annotations

import json
from pathlib import Path

from tests.facades.importers.small_sources import make_agentmail, make_claude_mailbox, make_postal
from tests.pages.blocks import ROOT, blocks_of
from tests.pages.links import broken_links
from tests.pages.reader import Reader

PAGE = ROOT / "docs" / "how-to" / "import.md"


def test_every_line_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        for folder in ("postal/db", "code/shop", ".claude-mailbox"):
            (reader.home / folder).mkdir(parents=True)
        make_postal(reader.home / "postal" / "db" / "messages.sqlite")
        make_agentmail(reader.home / "code" / "shop")
        make_claude_mailbox(reader.home / ".claude-mailbox" / "mailbox.db")
        reader.types('git clone -q "$REPOSITORY" mail && cd mail')
        reader.types("make link\nmake serve")
        looked, applied, again = (reader.types(text) for _, text in blocks_of(PAGE, "sh"))

    assert looked.count("count\tmessages\t40\t40\t0\t0") == 3
    assert applied.count("count\tmessages\t40\t40\t0\t0") == 3
    assert "bob-claude-mailbox" in applied
    assert json.loads(again)["counts"]["messages"] == {"found": 40, "added": 0, "known": 40, "changed": 0, "left": 0}


def test_its_links_lead_somewhere() -> None:
    assert broken_links(PAGE) == []
