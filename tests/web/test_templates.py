"""What the pages tell people to run is there to be run."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import mcp_agent_mail.web
from tests.cli.command_line import am

_PACKAGE = Path(mcp_agent_mail.web.__file__).parent
_IN_TEMPLATES = re.compile(r"<code>am (.*?)</code>", re.DOTALL)
_IN_HINTS = re.compile(r"`am ([^`]*)`")


def _commands() -> list[str]:
    """As the templates have them, what they fill in left out, and as our own hints have them."""
    found = set[str]()
    for path in _PACKAGE.rglob("*.html"):
        found |= {re.sub(r"{{.*?}}", "NAME", one) for one in _IN_TEMPLATES.findall(path.read_text("utf-8"))}
    for path in _PACKAGE.rglob("*.py"):
        found |= {one for one in _IN_HINTS.findall(path.read_text("utf-8")) if one != "…"}
    return sorted(html.unescape(one) for one in found)


def test_commands_are_told() -> None:
    assert {"demo", "web", "mail send --attach FILE"} <= set(_commands())


@pytest.mark.parametrize("command", _commands())
def test_each_command_and_each_of_its_options_is_there(command: str, tmp_path: Path) -> None:
    words = command.split()
    called = [one for one in words if one.islower() and not one.startswith("-")]

    answer = am(*called, "--help", home=tmp_path)

    assert answer.returncode == 0, answer.stderr
    assert [one for one in words if one.startswith("-") and one not in answer.stdout] == []
