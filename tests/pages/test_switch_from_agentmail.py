"""The how-to about switching from AgentMail, typed line by line: real tmux, and the server that the command starts."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.facades.importers.small_sources import make_agentmail
from tests.pages.blocks import ROOT, blocks_of
from tests.pages.reader import Reader

PLUGIN = "src/mcp_agent_mail/cli/agentmail/plugin"
PAGE = ROOT / "docs" / "how-to" / "switch-from-agentmail.md"


def _stand_in(folder: Path) -> str:
    """The command as the project's installation makes it, whatever this environment holds."""
    program = folder / "agentmail"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}/src" exec {sys.executable} -P -m mcp_agent_mail.cli.agentmail.entry "$@"\n'
    )
    program.chmod(0o755)
    return str(folder)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux on this machine")
def test_every_line_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    put = f'export PATH="{_stand_in(programs)}:$PATH" PYTHONPATH="{ROOT}/src" TMUX_TMPDIR="{tmp_path}"\n'
    blocks = [text for _, text in blocks_of(PAGE, "sh")]
    with Reader(tmp_path) as reader:
        reader.types('git clone -q "$REPOSITORY" mail && cd mail')
        make_agentmail(reader.home / "app", messages=4)
        shutil.rmtree(reader.home / "app" / ".git")  # The page makes it.
        try:
            said = reader.types(put + "".join(blocks))
        finally:
            _stop_server(reader.home / ".mcp_agent_mail" / "server.json")

    assert "agent1 [you]\nagent2\nagent3\n" in said
    assert re.search(r"Message #[0-9A-Za-z]{8} sent\nFrom: agent1\nID: [0-9A-Za-z]{8}\n\nIs the parser yours\?", said)
    assert re.search(r"From: reviewer\nID: [0-9A-Za-z]{8}\n\nLooks good\.", said)
    assert "claude mcp add agentmail -- agentmail mcp" in said
    added = re.search(r"claude plugin marketplace add (\S+)", said)
    assert added is not None
    assert added[1] == str(reader.home / "mail" / PLUGIN)
    assert (ROOT / PLUGIN / ".claude-plugin" / "marketplace.json").is_file()
    assert re.search(r"messages\s+4\b", said), said
    assert "claude plugin install agentmail@agentmail-marketplace" in said
    assert re.search(r"Mailman daemon started in background \(PID: \d+\)", said)
    # Reviewer, and two who came by the import and have no window here.
    assert "Cleanup complete:\n  Recipients removed: 3 (3 offline, 0 stale)\n" in said


def _stop_server(owner: Path) -> None:
    if owner.exists():
        os.kill(json.loads(owner.read_text())["pid"], signal.SIGTERM)


def test_the_inspectors_lines_are_those_that_it_takes() -> None:
    """`make inspector` runs them."""
    page = PAGE.read_text(encoding="utf-8")
    asked = (ROOT / "tests" / "conformance" / "inspector.py").read_text(encoding="utf-8")

    assert "npx @modelcontextprotocol/inspector --cli agentmail mcp --method tools/list" in page
    assert "--method tools/call --tool-name receive" in page
    assert '"--method", "tools/list", "--strict"' in asked
    assert '"--method", "tools/call", "--tool-name"' in asked
    assert "cli.agentmail.entry mcp" in asked
