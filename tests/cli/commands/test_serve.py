"""How a start ends that cannot succeed: who is in the way, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import am
from tests.cli.conftest import Post
from tests.cli.shell import Shell


def test_a_second_server_on_a_store_is_told_who_owns_it(post: Post) -> None:
    done = post.server.am("serve", "--port", "0")

    assert done.returncode == 75
    assert f"process {post.server.pid}" in done.stderr
    assert f"http://127.0.0.1:{post.server.port}" in done.stderr


def test_a_taken_port_is_told_with_its_owner(post: Post, tmp_path: Path) -> None:
    done = am("serve", "--port", str(post.server.port), home=tmp_path)

    assert done.returncode == 71
    assert f"127.0.0.1:{post.server.port} is taken" in done.stderr


def test_the_command_line_beats_the_environment(tmp_path: Path) -> None:
    done = am("serve", "--port", "x", home=tmp_path, HTTP_PORT="8765")

    assert done.returncode == 78
    assert "HTTP_PORT='x' (command line)" in done.stderr


def test_a_host_beyond_this_machine_needs_a_token(tmp_path: Path) -> None:
    done = am("serve", "--host", "0.0.0.0", home=tmp_path)

    assert done.returncode == 78
    assert "HTTP_BEARER_TOKEN" in done.stderr


@pytest.mark.parametrize("option", ["--host", "--port"])
def test_a_proxy_takes_no_address(option: str, shell: Shell) -> None:
    done = shell.am("serve", "--stdio", option, "1")

    assert (done.code, done.out) == (2, "")
    assert "AGENT_MAIL_URL" in done.err
    assert list(shell.home.iterdir()) == []
