"""`serve`, `start`, `stop`, `status`: the server with the door open, as real processes."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.cli.service.unit_files import MARK
from tests.cli.claude_mailbox.mailbox_program import MailboxProgram

_DOOR = re.compile(rb"claude-mailbox at (http://[^ \n]+)")
_READY = re.compile(rb" serves http://[^ ]+/")


def program_of(home: Path, **env: str) -> MailboxProgram:
    """With a main port of its own."""
    return MailboxProgram(home, "", {"HTTP_PORT": "0", "STORAGE_ROOT": str(home / "store"), **env})


@contextmanager
def serving(program: MailboxProgram, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The process, and the URL of its door."""
    process = program.started("serve", *arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    said = b""
    try:
        while not (found := _DOOR.search(said)):
            line = process.stdout.readline()
            assert line, said
            said += line
        yield process, found[1].decode().rstrip("/")
    finally:
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        process.wait(30)
        process.stdout.close()


def test_serve_is_the_server_with_the_door_at_that_port(tmp_path: Path) -> None:
    program = program_of(tmp_path)
    with serving(program, "--port", "0", "--hide-after-minutes", "5") as (process, url):
        health = program.run("status", "--url", url)
        sent = program.run("send", "--from", "a", "--to", "b", "--body", "hi", "--url", url)
        second = program.run("serve", "--port", "0")

    assert re.fullmatch(rf"Running at {url} \(version [^)]+\)\n", health.out)
    assert sent.out == "Sent to b\n"
    assert second.code == 75
    assert str(process.pid) in second.err
    assert process.returncode == 0


def test_serve_takes_its_store_by_file(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere" / "mine.db"
    with serving(program_of(tmp_path), "--port", "0", "--db-path", str(file)) as (_, url):
        found = json.loads(_get(url))

    assert found["dbPath"] == str(file)
    assert file.read_bytes()[68:72] == b"amai"
    assert (file.parent / "server.lock").exists()
    assert not (tmp_path / "store").exists()


def _get(url: str) -> str:
    import urllib.request

    with urllib.request.urlopen(f"{url}/health") as answer:
        return str(answer.read().decode())


def test_the_former_programs_database_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mailbox.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE messages (id INTEGER)")
    before = file.read_bytes()

    ended = program_of(tmp_path).run("serve", "--db-path", str(file))

    assert (ended.code, ended.out) == (78, "")
    assert f"am import claude-mailbox {file}" in ended.err
    assert file.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mailbox.db"]


def test_beyond_this_machine_it_needs_the_token(tmp_path: Path) -> None:
    ended = program_of(tmp_path).run("serve", "--port", "0", "--bind", "0.0.0.0")

    assert ended.code == 78
    assert "HTTP_BEARER_TOKEN" in ended.err


def test_a_port_that_is_taken_is_71_and_named(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = program_of(tmp_path).run("serve", "--port", str(port))

    assert ended.code == 71
    assert str(port) in ended.err


def test_a_config_file_says_what_flags_say_and_flags_beat_it(tmp_path: Path) -> None:
    config = tmp_path / "mailbox.json"
    config.write_text(json.dumps({"port": 1, "bind": "127.0.0.1", "dbPath": str(tmp_path / "c" / "c.db")}))
    with serving(program_of(tmp_path), "--config", str(config), "--port", "0") as (_, url):
        found = json.loads(_get(url))
    broken = tmp_path / "broken.json"
    broken.write_text("[]")
    unfit = program_of(tmp_path).run("serve", "--config", str(broken))

    assert found["dbPath"] == str(tmp_path / "c" / "c.db")
    assert unfit.code == 78
    assert str(broken) in unfit.err


def test_it_is_started_in_the_background_and_stopped(tmp_path: Path) -> None:
    port = _free_port()
    program = program_of(tmp_path, CLAUDE_MAILBOX_PORTS=str(port))

    before = program.run("status")
    started = program.run("start")
    again = program.run("start")
    during = program.run("status")
    stopped = program.run("stop")
    after = program.run("status")
    twice = program.run("stop")

    assert before.out == after.out == "NotInstalled\n"
    assert re.fullmatch(rf"Started at http://127.0.0.1:{port} \(PID \d+\)\n", started.out), started
    assert again.out == f"Running at http://127.0.0.1:{port}\n"
    assert during.out.startswith("Running at ")
    assert (stopped.code, stopped.out, twice.out) == (0, "Stopped\n", "Stopped\n")


def test_what_does_not_start_says_where_it_says_why(tmp_path: Path) -> None:
    program = program_of(tmp_path, CLAUDE_MAILBOX_PORTS="no-port")

    ended = program.run("start")

    assert ended.code == 78
    assert "server.log says why" in ended.err


def test_where_autostart_is_installed_a_server_that_is_down_is_stopped(tmp_path: Path) -> None:
    unit = tmp_path / ".config" / "systemd" / "user" / "mcp-agent-mail.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(f"# {MARK}\n")

    assert program_of(tmp_path, CLAUDE_MAILBOX_PORTS=str(_free_port())).run("status").out == "Stopped\n"


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_server_in_order(tmp_path: Path) -> None:
    program = program_of(tmp_path)
    with serving(program, "--port", "0") as (process, _):
        process.send_signal(signal.SIGINT)
        process.wait(30)

    assert process.returncode == 0


@contextmanager
def _served_by_others(program: MailboxProgram, said_last: re.Pattern[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """With the environment of the same person, but by `am`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mcp_agent_mail", "serve"],
        env=program.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    said = b""
    try:
        while not said_last.search(said):
            line = process.stdout.readline()
            assert line, said
            said += line
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        process.wait(30)
        process.stdout.close()


def test_a_server_that_others_started_runs_on(tmp_path: Path) -> None:
    program = program_of(tmp_path, CLAUDE_MAILBOX_ENABLED="true", CLAUDE_MAILBOX_PORTS="0")
    with _served_by_others(program, _DOOR) as process:
        refused = program.run("stop")
        running = process.poll() is None

    assert (refused.code, refused.out, running) == (1, "", True)
    assert f"(pid {process.pid}) was not started by claude-mailbox: it runs on." in refused.err
    assert f"kill {process.pid}" in refused.err


@pytest.mark.parametrize(("command", "code"), [("list", 2), ("serve", 75), ("start", 75)])
def test_beside_a_server_whose_door_is_closed_each_says_what_opens_it(tmp_path: Path, command: str, code: int) -> None:
    program = program_of(tmp_path, CLAUDE_MAILBOX_PORTS=str(_free_port()))
    with _served_by_others(program, _READY) as process:
        refused = program.run(command)
        running = process.poll() is None

    assert (refused.code, refused.out, running) == (code, "", True)
    assert f"(process {process.pid})" in refused.err
    assert "CLAUDE_MAILBOX_ENABLED=true" in refused.err
    assert "claude-mailbox serve" not in refused.err


def test_a_server_that_serve_became_is_stopped(tmp_path: Path) -> None:
    program = program_of(tmp_path)
    with serving(program, "--port", "0") as (process, _):
        second = program.run("serve", "--port", "0")
        stopped = program.run("stop")
        process.wait(30)  # Another signal would meet it as it ends.

    assert second.code == 75
    assert (stopped.code, stopped.out) == (0, "Stopped\n")
    assert process.returncode == 0
