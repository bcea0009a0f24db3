"""A server on a listening socket that outlives it: restarts that lose no call, and whom the socket lets in."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.handed import HandedServed, inherited_by
from tests.served import Connection, Served, children_of, pause

PROJECT = "/code/app"
RESTARTS = 4
BETWEEN_RESTARTS = 60
"""So many calls are answered before the next restart begins, each of which has several under way."""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


class Callers:
    """Clients that send mail without a pause: each letter of its own subject, each call answered before the next. Those
    that are slow ask a moment after they have connected.
    """

    def __init__(self, port: int) -> None:
        self.answered: list[str] = []
        self.faults: list[str] = []
        self.asked_again = 0
        self._port = port
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(f"{kind}-{number}", kind), daemon=True)
            for kind in ("fresh", "slow", "kept")
            for number in range(2)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive(), "a caller still waits for its answer"

    def _run(self, name: str, kind: str) -> None:
        connection = Connection(self._port)
        count = 0
        while not self._is_over.is_set() and not self.faults:
            count += 1
            subject = f"{name}-{count}"
            try:
                if kind == "slow":
                    connection._http.connect()
                    pause()
                connection = self._call(connection, subject, is_kept=kind == "kept" and count > 1)
            except (AssertionError, OSError, http.client.HTTPException) as fault:
                self.faults.append(f"{subject}: {fault!r}")
                return
            if kind != "kept":
                connection.close()
                connection = Connection(self._port)
        connection.close()

    def _call(self, connection: Connection, subject: str, *, is_kept: bool) -> Connection:
        """One call. A connection that was kept may have been closed by a stop meanwhile: as HTTP clients do, it is then
        asked again on a fresh one, once.
        """
        try:
            self._send(connection, subject)
        except (ConnectionError, http.client.BadStatusLine):
            if not is_kept:
                raise
            connection.close()
            self.asked_again += 1
            connection = Connection(self._port)
            self._send(connection, subject)
        return connection

    def _send(self, connection: Connection, subject: str) -> None:
        connection.call(
            "send_message",
            project_key=PROJECT,
            sender_name="BlueLake",
            to=["GreenStone"],
            subject=subject,
            body_md="As before.",
        )
        self.answered.append(subject)

    def await_answers(self, count: int) -> None:
        until = len(self.answered) + count
        while len(self.answered) < until and not self.faults:
            pause()


def make_mailboxes(server: Served) -> None:
    with server.connect() as connection:
        connection.call("ensure_project", human_key=PROJECT)
        for name in ("BlueLake", "GreenStone"):
            connection.call("register_agent", project_key=PROJECT, name=name, program="test", model="test")


def sent_subjects(server: Served) -> Counter[str]:
    """As the database has them: each row is a call that was done."""
    import sqlite3

    with sqlite3.connect(server.database) as database:
        rows = database.execute("SELECT subject FROM messages").fetchall()
    database.close()
    return Counter(subject for (subject,) in rows)


def test_a_restart_loses_no_call_and_does_none_twice(root: Path, listener: socket.socket) -> None:
    with HandedServed(root, listener, AGENT_AUTH="open") as server:
        make_mailboxes(server)
        callers = Callers(server.port)
        callers.start()
        for _ in range(RESTARTS):
            callers.await_answers(BETWEEN_RESTARTS)
            server.stop()
            server.start()
        callers.await_answers(BETWEEN_RESTARTS)
        callers.end()

        assert callers.faults == []
        assert sent_subjects(server) == Counter(callers.answered)
        assert len(callers.answered) >= BETWEEN_RESTARTS * (RESTARTS + 1)


def test_calls_between_two_servers_wait_for_the_second(root: Path, listener: socket.socket) -> None:
    with HandedServed(root, listener) as server:
        server.stop()
        with Connection(listener.getsockname()[1]) as early:
            early._http.connect()
            early._http.request("GET", "/health/liveness")
            server.start()

            assert early._http.getresponse().status == 200


def test_the_socket_is_the_address_everywhere(root: Path, listener: socket.socket) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with HandedServed(root, listener, HTTP_HOST="127.0.0.9") as server, server.connect() as connection:
        while not (children := children_of(server.pid)):
            pause()
        health = connection.call("health_check")

        assert f"serves {url}/mcp" in server.log.read_text()
        assert json.loads((root / "server.json").read_text())["url"] == url
        assert (health["http_host"], f"http://127.0.0.1:{health['http_port']}") == ("127.0.0.1", url)
        assert server.am("status").returncode == 0
        assert "PATH" in inherited_by(children[0])
        assert not {name for name in inherited_by(children[0]) if name.startswith("LISTEN_")}


def refused(server: HandedServed) -> tuple[int, str]:
    """Exit code and words of a server that does not start."""
    server.spawn()
    assert server.process is not None
    code = server.process.wait(60)
    server.process = None
    return code, server.log.read_text()


def test_a_socket_beyond_loopback_needs_a_token_whatever_the_settings_say(root: Path) -> None:
    with socket.create_server(("0.0.0.0", 0)) as everywhere:
        server = HandedServed(root, everywhere, HTTP_HOST="127.0.0.1")
        code, words = refused(server)

        assert code == 78
        assert "HTTP_HOST='0.0.0.0' (the socket that was handed over by LISTEN_FDS)" in words
        assert "an address of this machine only, or HTTP_BEARER_TOKEN" in words
        assert not (root / "mail.sqlite3").exists()


def test_a_socket_beyond_loopback_is_served_with_a_token_to_agents_that_show_theirs(root: Path) -> None:
    token = "a-token-of-more-than-sixteen"
    with socket.create_server(("0.0.0.0", 0)) as everywhere:
        settings = {"HTTP_HOST": "127.0.0.1", "HTTP_BEARER_TOKEN": token}
        with HandedServed(root, everywhere, **settings) as server:
            shown = server.am("config", "show", "--json")
            with server.connect(Authorization=f"Bearer {token}") as connection:
                connection.call("ensure_project", human_key=PROJECT)
                agent = {"project_key": PROJECT, "program": "test", "model": "test"}
                connection.call("register_agent", name="BlueLake", **agent)
                again = connection.rpc("register_agent", {"name": "BlueLake", **agent})

        assert shown.returncode == 0
        assert again.status == 401 or again.error_type == "UNAUTHENTICATED", again


@pytest.mark.parametrize(
    ("variables", "options", "code", "words"),
    [
        ({"LISTEN_FDS": "2"}, (), 71, "LISTEN_FDS='2': it takes one socket, no more."),
        ({}, ("--port", "0"), 2, "no --host, no --port"),
    ],
)
def test_what_cannot_be_taken_is_told_with_the_exit_code_of_its_kind(
    root: Path, listener: socket.socket, variables: dict[str, str], options: tuple[str, ...], code: int, words: str
) -> None:
    ended, told = refused(HandedServed(root, listener, *options, **variables))

    assert ended == code
    assert words in " ".join(told.split())
    assert "Traceback" not in told


def test_systemds_own_program_hands_over_as_the_protocol_says(root: Path) -> None:
    import shutil

    if (activate := shutil.which("systemd-socket-activate")) is None:
        pytest.skip("systemd-socket-activate is not installed here")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Served(root)
    root.mkdir(parents=True)
    command = [
        activate,
        "--listen",
        f"127.0.0.1:{port}",
        *(f"--setenv={n}={v}" for n, v in server.environment().items()),
    ]
    with subprocess.Popen([*command, *server.command()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            answer = None
            while answer is None and child.poll() is None:
                with suppress(ConnectionRefusedError), Connection(port) as connection:
                    answer = connection.request("GET", "/health/readiness")
                pause()
            owner = json.loads((root / "server.json").read_text())
        finally:
            child.terminate()

    assert answer is not None
    assert answer.status == 200
    assert (owner["pid"], owner["url"]) == (child.pid, f"http://127.0.0.1:{port}")
