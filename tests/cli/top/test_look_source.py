"""Who is looked at, as servers come and go."""

from __future__ import annotations

import pytest

from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.top.look_source import LookSource
from tests.cli.conftest import Post
from tests.cli.scripted_server import ScriptedServer, answer
from tests.cli.shell import Shell


def test_a_server_that_comes_goes_and_comes_again(at_stopped: Shell, stopped_post: Post) -> None:
    looks = LookSource(at_stopped.context())
    looks.require_first()

    found = [looks.look().server]
    with stopped_post.server:
        found.append(looks.look().server)
    found.append(looks.look().server)
    with stopped_post.server:
        found.append(looks.look().server)
        looks.close()

    assert found == ["none", "ok", "none", "ok"]


def test_what_answers_otherwise_is_a_problem_and_no_end(at_stopped: Shell) -> None:
    with ScriptedServer(answer(["no", "health"])) as server:
        at_stopped.set(AGENT_MAIL_URL=server.url)
        looks = LookSource(at_stopped.context())
        looks.require_first()
        found = looks.look()
        looks.close()

    assert found.server == "none"
    assert found.problem


def test_neither_a_server_nor_a_store_is_refused_before_anything_is_shown(shell: Shell) -> None:
    shell.set(STORAGE_ROOT=str(shell.home / "none"))

    with pytest.raises(NoServer):
        LookSource(shell.context()).require_first()
