"""The how-to about switching from ClaudeMailbox, typed line by line against a real server."""

from __future__ import annotations

import json
import re
import socket
import sys
from pathlib import Path

from tests.pages.blocks import ROOT, blocks_of
from tests.pages.reader import Reader

PAGE = ROOT / "docs" / "how-to" / "switch-from-claude-mailbox.md"
PRINTED = "47822"


def test_every_line_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        port = lend_command(reader, tmp_path / "bin")
        reader.types('git clone -q "$REPOSITORY" mail && cd mail')
        texts = [text.replace(PRINTED, port) for _, text in blocks_of(PAGE, "sh")]
        _, autostart, talk, scripted, installed = (reader.types(text) for text in texts)
        hooks = json.loads((reader.home / ".claude" / "settings.json").read_text())["hooks"]
        reader.types("claude-mailbox uninstall-hook && claude-mailbox uninstall-autostart")

    health, sent, pending, message, _, *names = talk.splitlines()
    assert json.loads(health)["status"] == "ok"
    assert sent == "Sent to frontend"
    assert re.fullmatch(r"1 pending \(oldest \S+\)", pending)
    assert message == "[backend] The API is up."
    assert sorted(names) == ["backend", "frontend"]
    posted, taken = map(json.loads, scripted.splitlines())
    assert [(one["id"], one["from"], one["body"]) for one in taken] == [(posted["id"], "frontend", "Thanks.")]
    assert "It opens: claude-mailbox\n" in autostart
    assert not list((reader.home / ".config" / "systemd" / "user").glob("*.service"))
    assert installed.startswith("Hooks are installed in ")
    assert len(hooks) == 5
    assert not (reader.home / ".claude" / "settings.json").exists()


def lend_command(reader: Reader, folder: Path) -> str:
    """The command of this checkout, and a free port for the door, which the server and the command know of."""
    command = folder / "claude-mailbox"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mcp_agent_mail.cli.claude_mailbox.entry "$@"\n')
    command.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    reader._environment["CLAUDE_MAILBOX_PORTS"] = port
    return port


def test_the_page_names_the_ports_that_are_the_defaults() -> None:
    (block,) = (json.loads(text) for _, text in blocks_of(PAGE, "json"))

    assert block["mcpServers"]["mailbox"]["url"] == f"http://127.0.0.1:{PRINTED}/mcp"
