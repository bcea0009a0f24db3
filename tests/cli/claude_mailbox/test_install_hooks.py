"""Hooks in Claude Code's settings: one entry per event, other people's bytes as they were, and the way back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.claude_mailbox.install_hooks import EVENTS
from tests.cli.claude_mailbox.mailbox_program import MailboxProgram

PLAIN = """{
    "model": "opus",
  "hooks": {"SessionStart": [ {"hooks": [{"type": "command", "command": "echo hi"}]} ],
            "Stop": []},

    "permissions": { "allow": ["Bash(ls:*)"] }
}"""


def settings(program: MailboxProgram) -> Path:
    path = program.home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    return path


def ours(path: Path) -> dict[str, list[str]]:
    """The commands of ours by event."""
    hooks: dict[str, list[Any]] = json.loads(path.read_text())["hooks"]
    return {
        event: [
            handler["command"] for item in items for handler in item["hooks"] if "claude-mailbox" in handler["command"]
        ]
        for event, items in hooks.items()
    }


@pytest.mark.parametrize("before", [PLAIN, PLAIN + "\n", "{}", '{"hooks": {}}', None])
def test_twice_is_one_entry_per_event_and_back_are_the_very_bytes(alone: MailboxProgram, before: str | None) -> None:
    path = settings(alone)
    if before is not None:
        path.write_text(before)

    first = alone.run("install-hook")
    once = path.read_bytes()
    second = alone.run("install-hook")
    twice = path.read_bytes()
    there = ours(path)
    back = alone.run("uninstall-hook")
    again = alone.run("uninstall-hook")

    assert [one.code for one in (first, second, back, again)] == [0, 0, 0, 0], (first, second, back, again)
    assert twice == once
    assert {event: [command.partition("claude-mailbox ")[2] for command in there[event]] for event in EVENTS} == {
        event: [words] for event, words in EVENTS.items()
    }
    assert (path.read_text() if path.exists() else None) == before
    assert not (alone.home / ".config").exists()


def test_with_a_name_the_entries_say_it_and_another_takes_its_place(alone: MailboxProgram) -> None:
    path = settings(alone)
    path.write_text(PLAIN)

    alone.run("install-hook", "--name", "back end")
    first = ours(path)
    alone.run("install-hook", "--name", "front")
    second = ours(path)
    alone.run("uninstall-hook")

    assert first["UserPromptSubmit"][0].endswith("check --hook --name 'back end'")
    assert {event: len(commands) for event, commands in second.items() if event in EVENTS} == dict.fromkeys(EVENTS, 1)
    assert second["SessionEnd"][0].endswith("session-end --name front")
    assert path.read_text() == PLAIN


def test_a_project_has_hooks_of_its_own(alone: MailboxProgram) -> None:
    code = alone.home / "code"
    code.mkdir()

    installed = alone.run("install-hook", "--project", cwd=code)
    path = code / ".claude" / "settings.json"
    there = path.exists()
    users = (alone.home / ".claude" / "settings.json").exists()
    alone.run("uninstall-hook", "--project", cwd=code)

    assert installed.code == 0
    assert (there, users) == (True, False)
    assert not path.exists()


def test_what_others_changed_since_stays(alone: MailboxProgram) -> None:
    path = settings(alone)
    before = json.dumps(json.loads(PLAIN), indent=2)
    path.write_text(before)
    alone.run("install-hook")
    path.write_text(path.read_text().replace('"opus"', '"sonnet"'))

    alone.run("uninstall-hook")

    assert path.read_text() == before.replace('"opus"', '"sonnet"')


def test_what_is_no_json_is_left_alone_and_said(alone: MailboxProgram) -> None:
    path = settings(alone)
    path.write_text('{"hooks": ')

    ended = alone.run("install-hook")

    assert ended.code == 1
    assert f"{path}" in ended.err
    assert "is left alone" in ended.err
    assert path.read_text() == '{"hooks": '
    assert not (alone.home / ".config").exists()


def test_am_setup_knows_nothing_of_them_and_takes_none(alone: MailboxProgram) -> None:
    """The two journals lie beside each other, and neither takes back what the other has written."""
    path = settings(alone)
    alone.run("install-hook")
    journals = sorted(one.relative_to(alone.home).as_posix() for one in alone.home.rglob("journal.json"))

    assert journals == [".config/mcp-agent-mail/claude-mailbox/journal.json"]
    assert ours(path)["SessionStart"]
