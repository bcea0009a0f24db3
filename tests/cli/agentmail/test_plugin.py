"""The plugin for Claude Code: four hooks and four commands, and an end of a turn that always says `ready`."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.agentmail.words import USAGES

PLUGIN = Path(__file__).parents[3] / "src" / "mcp_agent_mail" / "cli" / "agentmail" / "plugin"


def _hooks() -> dict[str, str]:
    """The command of each event."""
    events: dict[str, Any] = json.loads((PLUGIN / "agentmail" / "hooks" / "hooks.json").read_text())["hooks"]
    found = {}
    for name, (group,) in events.items():
        (hook,) = group["hooks"]
        assert hook["type"] == "command"
        found[name] = hook["command"]
    return found


def _run(command: str, tmp_path: Path, *, mail: bool) -> tuple[list[str], int]:
    """What `agentmail` was asked, and the exit code of the hook."""
    asked = tmp_path / "asked"
    program = tmp_path / "agentmail"
    code = 2 if mail else 0
    program.write_text(f'#!/bin/sh\necho "$*" >> {asked}\ncase "$*" in "receive --hook") exit {code};; esac\n')
    program.chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", command], check=False, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True
    )
    return asked.read_text().splitlines(), done.returncode


def test_there_are_four_hooks() -> None:
    assert list(_hooks()) == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]


@pytest.mark.parametrize("mail", [True, False])
def test_the_end_of_a_turn_says_ready_whatever_the_mail_and_ends_as_the_mail_does(mail: bool, tmp_path: Path) -> None:
    asked, code = _run(_hooks()["Stop"], tmp_path, mail=mail)

    assert asked == ["status ready", "receive --hook"]
    assert code == (2 if mail else 0)


def test_the_other_hooks_say_when_the_agent_is_ready_at_work_and_gone(tmp_path: Path) -> None:
    said = []
    for event in ("SessionStart", "UserPromptSubmit", "SessionEnd"):
        folder = tmp_path / event
        folder.mkdir()
        said.append(_run(_hooks()[event], folder, mail=False))

    assert said == [(["status ready", "onboard"], 0), (["status work"], 0), (["status offline"], 0)]


def test_there_are_four_commands_that_may_run_theirs_alone() -> None:
    commands = {path.stem: path.read_text() for path in (PLUGIN / "agentmail" / "commands").glob("*.md")}

    assert set(commands) == {"send", "receive", "recipients", "status"}
    for name, text in commands.items():
        assert re.search(rf"(?m)^allowed-tools: .*Bash\(agentmail {name}:\*\)", text), name
        assert re.search(r"(?m)^description: \S", text), name
        assert f"`agentmail {name}" in text
        assert name in USAGES


def test_the_marketplace_leads_to_the_plugin() -> None:
    marketplace = json.loads((PLUGIN / ".claude-plugin" / "marketplace.json").read_text())
    (listed,) = marketplace["plugins"]
    plugin = json.loads((PLUGIN / listed["source"] / ".claude-plugin" / "plugin.json").read_text())

    assert (marketplace["name"], listed["name"], plugin["name"]) == ("agentmail-marketplace", "agentmail", "agentmail")
