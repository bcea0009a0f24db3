"""The how-to about switching from a system with claims, typed line by line against a real server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mcp_agent_mail.facades.claims.profile import CLAIMS
from tests.pages.blocks import ROOT, blocks_of
from tests.pages.reader import Reader

PAGE = ROOT / "docs" / "how-to" / "switch-from-claims.md"
REFERENCE = ROOT / "docs" / "reference" / "profiles.md"


def test_every_line_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        reader.types('git clone -q "$REPOSITORY" mail && cd mail')
        _, added, talk, resource = (reader.types(text) for _, text in blocks_of(PAGE, "sh"))

    assert f"mcp add --transport http agent-mail http://127.0.0.1:{reader.port}/mcp?profile=claims" in added
    blue, red, sent, inbox, granted, refused, released = (result_of(line) for line in talk.splitlines())
    assert (blue["name"], red["name"]) == ("BlueLake", "RedStone")
    assert sent["count"] == 1
    assert [(mail["subject"], mail["body_md"]) for mail in inbox["result"]] == [("Parser", "Yours?")]
    assert [one["path"] for one in granted["granted"]] == ["src/**"]
    assert [one["path"] for one in refused["granted"]] == ["docs/a.md"]
    assert [one["path"] for one in refused["conflicts"]] == ["src/a.py"]
    assert json.dumps({"hint": refused["hint"]})[1:-1].replace('": "', '":"') in PAGE.read_text(encoding="utf-8")
    assert released["released"] == 1
    (content,) = json.loads(resource)["result"]["contents"]
    assert [mail["subject"] for mail in json.loads(content["text"])["messages"]] == ["Parser"]


# The answer is plain JSON.
def result_of(line: str) -> Any:
    result = json.loads(line)["result"]
    assert result["isError"] is False, line
    return result["structuredContent"]


def test_the_reference_lists_the_tools_of_the_profile() -> None:
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \| `project_key", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)

    assert {word for row in rows for word in re.findall(r"`(\w+)`", row)} == set(CLAIMS.tools or ())
