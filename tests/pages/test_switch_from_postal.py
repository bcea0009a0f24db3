"""The how-to about switching from postal, typed line by line against a real server."""

from __future__ import annotations

import json
from pathlib import Path

from tests.facades.postal.test_processes import CURL_CHECKS, CURL_SENDS
from tests.pages.blocks import ROOT, blocks_of
from tests.pages.reader import Reader

PAGE = ROOT / "docs" / "how-to" / "switch-from-postal.md"


def test_every_line_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        reader.types('git clone -q "$REPOSITORY" mail && cd mail')
        _, added, talk, doors = (reader.types(text) for _, text in blocks_of(PAGE, "sh"))

    assert f"mcp add --transport http postal http://127.0.0.1:{reader.port}/agents/claude-code/mcp" in added
    sent, message = (json.loads(line) for line in talk.splitlines())
    assert (message["id"], message["from"], message["content"]) == (sent, "alice", "ping")
    lines = [line.split("\t") for line in doors.splitlines()]
    assert lines[0][:2] == ["postal", "open"]
    assert [line[:2] for line in lines[-2:]] == [["alice", "postal"], ["bob", "postal"]]


def test_its_curl_lines_are_those_of_the_systems_own_page() -> None:
    page = PAGE.read_text(encoding="utf-8").replace("curl -sS ", "curl ").replace("127.0.0.1:8765", "localhost:8000")

    assert CURL_SENDS.strip() in page
    assert CURL_CHECKS.strip() in page
