"""What differs from the systems that this one takes in: each line with its reason and a page that says it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.names import FORMER, WITHOUT_EFFECT
from mcp_agent_mail.core.settings.rows import ROWS
from tests.pages.blocks import ROOT
from tests.pages.links import broken_links, links_of

REFERENCE = ROOT / "docs" / "reference"
DIFFERENCES = REFERENCE / "differences.md"
PAGES = [DIFFERENCES, REFERENCE / "neighbours.md", ROOT / "docs" / "concepts" / "threat-model.md"]
SETTINGS = {*(row.name for row in ROWS), *FORMER, *WITHOUT_EFFECT}
OTHERS = {"TMUX_PANE", "PERMISSION_DENIED"}
SYSTEMS = ["All doors", "postal", "AgentMail", "ClaudeMailbox", "A system with claims", "The older mcp_agent_mail"]


def rows() -> list[list[str]]:
    lines = DIFFERENCES.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    return [row for row in cells if row != ["there", "here", "why"]]


def test_every_system_has_its_table() -> None:
    text = DIFFERENCES.read_text(encoding="utf-8")

    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SYSTEMS
    assert text.count("| there | here | why |") == len(SYSTEMS)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:40])
def test_every_line_says_what_is_there_what_is_here_and_why_with_a_page(row: list[str]) -> None:
    assert len(row) == 3
    assert len(links_of(row[2])) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_its_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_settings_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[a-z]+)?`", text))

    assert named - SETTINGS - OTHERS == set()


@pytest.mark.parametrize("name", ["differences.md", "neighbours.md"])
def test_the_index_names_it(name: str) -> None:
    assert name in links_of((REFERENCE / "README.md").read_text(encoding="utf-8"))
