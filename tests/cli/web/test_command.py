from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.cli.web.command import has_display
from tests.cli.conftest import Post
from tests.cli.shell import Shell


def test_the_link_is_printed_and_each_is_another(at_post: Shell, post: Post) -> None:
    told = dict(at_post.am("web", "--no-browser").lines())
    again = at_post.am("web", "--no-browser", "--json").json()

    assert told["url"].startswith(f"http://127.0.0.1:{post.server.port}/mail/sign-in?link=aml_")
    assert told["opened"] == "no"
    assert again["url"] != told["url"]
    assert (again["opened"], again["expires_ts"][:2]) == (False, "20")


def test_a_browser_is_started_with_the_link(at_post: Shell, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{seen}"\n')
    browser.chmod(0o755)
    at_post.set(BROWSER=str(browser))

    told = at_post.am("web", "--json").json()

    assert told["opened"] is True
    assert seen.read_text() == told["url"]


def test_without_a_server_there_is_nothing_to_open(at_stopped: Shell) -> None:
    ended = at_stopped.am("web", "--no-browser")

    assert (ended.code, ended.out) == (69, "")
    assert "am serve" in ended.err


@pytest.mark.parametrize(
    ("environ", "platform", "is_there"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"DISPLAY": ":10", "SSH_CONNECTION": "1"}, "linux", False),
        ({"SSH_TTY": "/dev/pts/1"}, "darwin", False),
        ({}, "darwin", True),
        ({"BROWSER": "w3m", "SSH_TTY": "/dev/pts/1"}, "linux", True),
    ],
)
def test_where_a_browser_would_be_seen(environ: dict[str, str], platform: str, is_there: bool) -> None:
    assert has_display(environ, platform) is is_there
