"""The guard beside a real server: its live leases decide, and what the guard did is recorded there."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.guarded_project import GuardedProject, in_time, told_of_leases
from tests.served import Served, git


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Each test has a project of its own in it."""
    with Served(tmp_path_factory.mktemp("guarded") / "store") as server:
        yield server


@pytest.fixture
def guarded(server: Served, tmp_path: Path) -> GuardedProject:
    return GuardedProject(server, (tmp_path / "code").resolve())


def test_a_live_lease_blocks_the_moment_it_is_granted_and_no_longer_than_it_is_held(guarded: GuardedProject) -> None:
    before = guarded.check("src/app.py")
    guarded.hold("src/**", reason="the parser")

    held = guarded.commit("src/app.py")
    guarded.call("release_file_reservations", project_key=str(guarded.code), agent_name="RedStone")
    after = guarded.commit("src/app.py")

    assert (before.returncode, held.returncode, after.returncode) == (0, 1, 0), (before, held, after)
    assert "held by RedStone until" in held.stderr
    assert 'says: "the parser"' in held.stderr
    assert "read from the server" in held.stderr
    assert told_of_leases(after) == []
    assert [(event["action"], event["agent"], event["hook"]) for event in guarded.log()] == [
        ("refused", "BlueLake", "pre-commit")
    ] * (1 + guarded.refused_late)


def test_a_shared_lease_and_ones_own_do_not_block(guarded: GuardedProject) -> None:
    guarded.hold("shared/**", exclusive=False)
    guarded.hold("own/**", agent="BlueLake")

    done = guarded.commit("shared/a", "own/b")

    assert (done.returncode, told_of_leases(done)) == (0, [])


def test_the_author_counts_when_the_server_knows_an_agent_of_that_name(guarded: GuardedProject) -> None:
    guarded.hold("src/app.py")

    stranger = guarded.commit("src/app.py", AGENT_NAME="", GIT_AUTHOR_NAME="Stranger")
    agent = guarded.commit("src/app.py", AGENT_NAME="", GIT_AUTHOR_NAME="bluelake")

    assert (stranger.returncode, agent.returncode) == (0, 1)
    assert "it is a person's" in stranger.stderr


def test_names_that_are_no_utf8_reach_the_server_as_they_are(guarded: GuardedProject) -> None:
    guarded.hold("data/**")

    done = guarded.commit(os.fsdecode(b"data/caf\xe9 %41"))

    assert done.returncode == 1
    assert "data/caf\\udce9 %41" in done.stderr


def test_a_project_that_the_server_does_not_know_is_said_and_passes(guarded: GuardedProject) -> None:
    done = guarded.commit("a", AGENT_MAIL_PROJECT="/code/nobody-knows")

    assert done.returncode == 0
    assert "knows no project /code/nobody-knows" in done.stderr


def test_a_server_that_wants_its_token_is_asked_with_it(tmp_path: Path) -> None:
    with Served(tmp_path / "store", HTTP_BEARER_TOKEN="t" * 20) as server:
        path = str(tmp_path / "code")
        with server.connect(Authorization=f"Bearer {'t' * 20}") as connection:
            connection.call("ensure_project", human_key=path)
        with server.connect() as connection:
            refused = connection.request("POST", "/guard/check", b"{}", {"Content-Type": "application/json"})
        code = tmp_path / "code"
        code.mkdir()
        git(code, "init", "-q")
        command = [sys.executable, "-m", "mcp_agent_mail", "guard", "check", "--json", "a"]
        sources = []
        for settings in ({"AGENT_MAIL_TOKEN": "t" * 20}, {}, {"AGENT_MAIL_URL": f"http://127.0.0.1:{server.port}/mcp"}):
            environ = {**server.environment(), "HOME": str(tmp_path), **settings}
            environ.pop("HTTP_BEARER_TOKEN") if settings else None
            ask = partial(subprocess.run, command, cwd=code, env=environ, capture_output=True, text=True, check=False)
            done = in_time(ask)
            sources.append(json.loads(done.stdout)["source"] if done.stdout else done.stderr)

    assert refused.status == 401
    assert sources[:2] == ["the server", "the server"], "the second by the operator's token, as this user"
    assert "needs its token" in sources[2], "the operator's token is shown to its own server alone"


def test_an_answer_that_drips_is_not_waited_for(guarded: GuardedProject) -> None:
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as dripping:

        def drip() -> None:
            connection, _ = dripping.accept()
            # The guard hangs up while this goes on.
            with connection, suppress(BrokenPipeError, ConnectionResetError):
                while not stop.wait(0.05):
                    connection.sendall(b"H")

        thread = threading.Thread(target=drip)
        thread.start()
        done = guarded.check("a", AGENT_MAIL_URL=f"http://127.0.0.1:{dripping.getsockname()[1]}")
        stop.set()
        thread.join()

    assert "did not answer within 300 ms" in done.stderr


def test_what_answers_may_be_somebody_else(guarded: GuardedProject) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"SSH-2.0-OpenSSH\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        done = guarded.check("a", AGENT_MAIL_URL=f"http://127.0.0.1:{other.getsockname()[1]}")
        thread.join()

    assert "no agent-mail server" in done.stderr
