"""The how-to about REST, typed line by line against a real server."""

from __future__ import annotations

import json
from pathlib import Path

from mcp_agent_mail.server.rest.routes import PREFIX, ROUTES
from tests.pages.blocks import ROOT, blocks_of
from tests.pages.reader import Reader

PAGE = ROOT / "docs" / "how-to" / "use-rest.md"
REFERENCE = ROOT / "docs" / "reference" / "http.md"


def test_every_line_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        reader.types('git clone -q "$REPOSITORY" mail && cd mail')
        reader.types("make serve")
        _, talk, inbox, description = (reader.types(text) for _, text in blocks_of(PAGE, "sh"))

    assert '"recoverable":true' not in reader.says
    assert "Yours?" in talk
    assert '"status":"answered"' in talk
    assert [mail["subject"] for mail in json.loads(inbox)["result"]] == ["Parser"]
    assert json.loads(description)["openapi"].startswith("3.1.")


def test_the_reference_lists_every_route_and_its_tool() -> None:
    text = REFERENCE.read_text(encoding="utf-8")

    assert [route.shown for route in ROUTES if f"| `{route.method} {PREFIX}{route.path}` |" not in text] == []
