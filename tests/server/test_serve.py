"""The server process: how it starts, who may not start beside it, how it stops."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.served import STOP_WITHIN_S, Connection, Served, children_of, pause

HEALTH_KEYS = {
    "caller",
    "delivery",
    "failing",
    "status",
    "environment",
    "http_host",
    "http_port",
    "database_url",
    "version",
    "archive",
    "reservations",
    "store",
    "workers",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def run_beside(server: Served, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", "serve"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=server.root.parent,
        env={**server.environment(), **env},
    )


def test_health_is_a_real_write_and_read_and_names_the_process(root: Path) -> None:
    with Served(root) as server, server.connect() as connection:
        health = connection.call("health_check")
        environment = connection.rpc("read_resource", {"uri": "resource://config/environment"}).value

        assert set(health) == HEALTH_KEYS
        assert health["status"] == "ok"
        assert list(health["store"]) == [
            "owner_pid",
            "schema_version",
            "store_id",
            "used_bytes",
            "free_bytes",
            "last_error",
        ]
        assert health["store"]["owner_pid"] == server.pid
        assert health["reservations"]["last_error"] is None
        assert {worker["last_error"] for worker in health["workers"].values()} == {None}
        assert health["archive"]["pending_events"] == 0
        assert environment["http"] == {"host": "127.0.0.1", "port": server.port, "path": "/mcp"}


def test_a_second_server_on_a_store_is_told_who_owns_it_and_leaves_it_alone(root: Path) -> None:
    with Served(root) as server, server.connect() as connection:
        late = run_beside(server, HTTP_PORT="0")

        assert late.returncode == 75
        assert f"in use by process {server.pid}, which serves http://127.0.0.1:{server.port}" in late.stderr
        assert connection.call("health_check")["status"] == "ok"


def test_a_taken_port_is_told_with_what_to_do(root: Path, tmp_path: Path) -> None:
    with Served(root) as server, server.connect() as connection:
        late = run_beside(server, STORAGE_ROOT=str(tmp_path / "another"))

        assert late.returncode == 71
        assert f"127.0.0.1:{server.port} is taken" in late.stderr
        assert "another --port" in late.stderr
        assert connection.call("health_check")["status"] == "ok"
        if Path("/proc/net/tcp").exists():
            assert f"by process {server.pid}" in late.stderr


def test_port_zero_prints_the_port_that_was_found(root: Path) -> None:
    server = Served(root)
    root.mkdir()
    command = [sys.executable, "-m", "mcp_agent_mail", "serve", "--port", "0"]
    env = server.environment()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root.parent, env=env) as child:
        assert child.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", child.stdout.readline())
        assert found is not None
        with Connection(int(found[1])) as connection:
            health = connection.call("health_check")
        child.send_signal(signal.SIGTERM)

        assert child.wait(30) == 0
        assert health["http_port"] == int(found[1])


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_is_clean_and_voids_the_operators_token(root: Path, by: signal.Signals) -> None:
    with Served(root) as server, server.connect() as connection:
        token = root / "operator.token"
        mode = token.stat().st_mode & 0o777
        owner = json.loads((root / "server.json").read_text())
        connection.call("health_check")
        process = server.process
        assert process is not None

        process.send_signal(by)

        assert process.wait(30) == 0
        assert mode == 0o600
        assert owner["url"] == f"http://127.0.0.1:{server.port}"
        assert not token.exists()
        assert not (root / "mail.sqlite3-wal").exists()


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_while_it_starts_is_as_clean(root: Path, by: signal.Signals) -> None:
    server = Served(root)
    server.spawn()
    assert server.process is not None
    while not (root / "operator.token").exists():
        assert server.process.poll() is None, server.log.read_text()
        pause()

    server.process.send_signal(by)

    assert server.process.wait(STOP_WITHIN_S) == 0, server.log.read_text()
    assert [name for name in ("operator.token", "server.json") if (root / name).exists()] == []
    assert "Traceback" not in server.log.read_text()


def test_a_restart_goes_unnoticed_by_a_session(root: Path) -> None:
    with Served(root) as server:
        with server.connect() as before:
            before.open_session()
            assert before.tool("health_check")["isError"] is False
            session = before._session
        server.stop()
        server.start()
        with server.connect() as after:
            after._session = session

            assert after.tool("health_check")["isError"] is False


def test_a_kill_leaves_a_store_that_the_next_server_takes(root: Path) -> None:
    with Served(root) as server:
        server.kill()
        server.start()
        with server.connect() as connection:
            assert connection.call("health_check")["status"] == "ok"


def test_the_server_imports_neither_orm_nor_git_library_nor_command_line_framework() -> None:
    program = (
        "import sys; from mcp_agent_mail.server import assembly, lifespan, serve; "
        "from mcp_agent_mail.server.transport import web_server; "
        "print([name for name in ('sqlmodel', 'sqlalchemy', 'git', 'typer', 'litellm') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)

    assert done.stdout.strip() == "[]"


def test_the_settings_of_fastmcp_are_not_read_from_a_strangers_env_file(root: Path) -> None:
    root.parent.joinpath(".env").write_text("FASTMCP_LOG_LEVEL=no-such-level\n")
    with Served(root, FASTMCP_TELEMETRY_MODE="no-such-mode") as server, server.connect() as connection:
        assert connection.call("health_check")["status"] == "ok"


class ServedOnStandstill(Served):
    """On a terminal that was stopped by Ctrl-S before the first line."""

    def spawn(self) -> None:
        self.root.mkdir(parents=True)
        self.reader, slave = pty.openpty()
        termios.tcflow(slave, termios.TCOOFF)
        self.process = subprocess.Popen(
            [*self.command(), "--host", "127.0.0.1", "--port", "0"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=self.root.parent,
            env={**self.environment(), "TERM": "xterm"},
        )
        os.close(slave)

    def _is_ready(self) -> bool:
        owner = self.root / "server.json"
        url = json.loads(owner.read_text()).get("url") if owner.exists() else None
        if url is None:
            return False
        self.port = int(url.rpartition(":")[2])
        with Connection(self.port) as connection:
            return connection.request("GET", "/health/readiness").status == 200


@pytest.mark.parametrize("rich", ["true", "false"])
def test_a_terminal_that_stands_still_holds_up_neither_calls_nor_the_end(root: Path, rich: str) -> None:
    limit_s = 10
    server = ServedOnStandstill(root, LOG_RICH_ENABLED=rich, SHUTDOWN_TIMEOUT_SECONDS=str(limit_s))
    server.log.touch()
    with server, server.connect() as connection:
        connection.call("ensure_project", human_key="/code/app")
        while not (archivers := children_of(server.pid)):
            pause()
        os.kill(archivers[0], signal.SIGKILL)
        while archivers[0] in children_of(server.pid):
            pause()

        for _ in range(3):
            connection.call("ensure_project", human_key="/code/app")
        process = server.process
        assert process is not None
        process.send_signal(signal.SIGTERM)

        assert process.wait(limit_s) == 0
    os.close(server.reader)


class ServedUnread(Served):
    """Its standard error is a pipe that nobody reads."""

    def spawn(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.reader, writer = os.pipe()
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [*self.command(), "--host", "127.0.0.1", "--port", str(self.port)],
                stdout=output,
                stderr=writer,
                stdin=subprocess.DEVNULL,
                cwd=self.root.parent,
                env=self.environment(),
            )
        os.close(writer)


def test_a_log_that_nobody_reads_holds_up_neither_calls_nor_the_end(root: Path) -> None:
    """A thousand calls log more than a pipe and the queue hold together."""
    limit_s = 10
    server = ServedUnread(
        root,
        SHUTDOWN_TIMEOUT_SECONDS=str(limit_s),
        LOG_LEVEL="DEBUG",
        HTTP_REQUEST_LOG_ENABLED="true",
        LOG_JSON_ENABLED="true",
    )
    with server, server.connect() as connection:
        for _ in range(1_000):
            connection.call("health_check")
        process = server.process
        assert process is not None
        process.send_signal(signal.SIGTERM)

        assert process.wait(limit_s) == 0
    with os.fdopen(server.reader) as said:
        lines = said.readlines()
    assert all(json.loads(line)["level"] for line in lines[:-1])
