from __future__ import annotations

import http.client
import json
import os
import select
import shlex
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.stdio import upstream
from mcp_agent_mail.cli.stdio.background import sole_starter
from mcp_agent_mail.cli.stdio.upstream import Upstream
from mcp_agent_mail.core.settings.client import load_client_settings
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.cli.scripted_server import ScriptedServer, answer

MAX_IDLE = 8
TLS_HANDSHAKE = 22


def upstream_of(root: Path, **environ: str) -> Upstream:
    return telling(root, [], **environ)


def telling(root: Path, told: list[str], **environ: str) -> Upstream:
    settings = load_client_settings({"STORAGE_ROOT": str(root), "HTTP_PORT": "0", **environ})
    return Upstream(settings, tell=told.append)


def ask(server: Upstream) -> bytes:
    with closing(server.connect()) as connection:
        return _ask_on(server, connection)


def _ask_on(server: Upstream, connection: http.client.HTTPConnection) -> bytes:
    return server.send(connection, "POST", b"{}", {"X-More": "1"}).read()


@contextmanager
def owned(root: Path, url: str | None) -> Iterator[Callable[[str | None], None]]:
    """Somebody has the store and says that it serves it at `url`; gives what says so anew."""

    def tell(now: str | None) -> None:
        (root / "server.json").write_text(json.dumps({"pid": 1, "url": now, "started": "now"}))

    with StoreLock(root, root / "mail.sqlite3"):
        tell(url)
        yield tell


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is waited for."""
    monkeypatch.setattr(upstream, "START_WITHIN_S", 0.0)


@pytest.mark.parametrize(
    ("path", "asked_at"), [("", "/mcp"), ("/", "/mcp"), ("/api/", "/api"), ("/hub", "/hub/mcp"), ("/agents", "/agents")]
)
def test_a_server_is_named_with_its_path_for_mcp_or_without(path: str, asked_at: str, tmp_path: Path) -> None:
    with ScriptedServer(answer(1)) as server:
        to = upstream_of(tmp_path, AGENT_MAIL_URL=server.url + path, HTTP_PATH="/agents")
        ask(to)

    assert server.asked[0].path == asked_at
    assert list(tmp_path.iterdir()) == []


def test_what_proves_the_client_and_what_it_says_of_itself_go_along_when_they_are_set(tmp_path: Path) -> None:
    window = "00000000-0000-4000-8000-000000000001"
    proofs = {
        "AGENT_MAIL_TOKEN": "secret-b",
        "AGENT_MAIL_AGENT_TOKEN": "secret-a",
        "MCP_AGENT_MAIL_WINDOW_ID": window,
        "AGENT_MAIL_PROJECT": "/code/für",
        "AGENT_NAME": "BlueLake",
    }
    with ScriptedServer(answer(1)) as server:
        for environ in (dict[str, str](), proofs):
            to = upstream_of(tmp_path, AGENT_MAIL_URL=server.url, **environ)
            ask(to)

    names = ("authorization", "x-agent-token", "x-agent-window", "x-agent-project", "x-agent-name", "x-more")
    nobody, proven = ([asked.headers.get(name) for name in names] for asked in server.asked)
    assert nobody == [None, None, None, None, None, "1"]
    # As HTTP's own encoding has the bytes of UTF-8.
    project = "/code/für".encode().decode("latin-1")
    assert proven == ["Bearer secret-b", "secret-a", window, project, "BlueLake", "1"]


def test_a_connection_that_was_given_back_is_used_again(tmp_path: Path) -> None:
    with ScriptedServer(answer(1)) as server:
        to = upstream_of(tmp_path, AGENT_MAIL_URL=server.url)
        first = to.connect()
        _ask_on(to, first)
        to.keep(first)

        again, other = to.connect(), to.connect()

        to.keep(again)
        to.part({})
        other.close()
    assert again is first
    assert other is not first


def test_a_connection_that_the_server_has_closed_is_not_used_again(tmp_path: Path) -> None:
    with ScriptedServer(answer(1, closes=True)) as server:
        to = upstream_of(tmp_path, AGENT_MAIL_URL=server.url)
        first = to.connect()
        _ask_on(to, first)
        to.keep(first)
        select.select([first.sock], [], [])

        fresh = to.connect()

        assert fresh is not first
        assert first.sock is None
        assert _ask_on(to, fresh) == b"1"
        fresh.close()


def test_so_many_connections_are_kept_and_the_others_closed(tmp_path: Path) -> None:
    with ScriptedServer(answer(1)) as server:
        to = upstream_of(tmp_path, AGENT_MAIL_URL=server.url)
        connections = [to.connect() for _ in range(MAX_IDLE + 1)]
        closed = to.connect()
        closed.close()

        for connection in (closed, *connections):
            to.keep(connection)
        kept = [connection.sock is not None for connection in connections]
        to.part({})

    assert kept == [True] * MAX_IDLE + [False]
    assert all(connection.sock is None for connection in connections)


def test_whoever_parts_tells_the_server_which_session_is_over(tmp_path: Path) -> None:
    with ScriptedServer(answer(1)) as server:
        to = upstream_of(tmp_path, AGENT_MAIL_URL=server.url)
        to.part({"Mcp-Session-Id": "none is kept"})
        connection = to.connect()
        to.keep(connection)
        to.part({"Mcp-Session-Id": "one"})

    assert [(asked.method, asked.path, asked.headers["mcp-session-id"]) for asked in server.asked] == [
        ("DELETE", "/mcp", "one")
    ]
    assert connection.sock is None


def test_the_server_that_owns_the_store_is_found_and_after_a_restart_elsewhere_again(tmp_path: Path) -> None:
    root = tmp_path / "store"
    to = upstream_of(root)
    with ScriptedServer(answer(2)) as second, owned(root, None) as tell:
        with ScriptedServer(answer(1)) as first:
            tell(first.url)
            found = [ask(to)]
        tell(second.url)
        found.append(ask(to))

    assert found == [b"1", b"2"]


@pytest.mark.usefixtures("impatient")
def test_a_named_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"

    with pytest.raises(NoServer, match=f"No server answers at {url}/mcp: "):
        upstream_of(tmp_path, AGENT_MAIL_URL=url).connect()


@pytest.mark.usefixtures("impatient")
def test_that_a_named_server_is_not_there_is_said_once_on_stderr(tmp_path: Path) -> None:
    told = list[str]()
    to = telling(tmp_path, told, AGENT_MAIL_URL="http://127.0.0.1:1")

    for _ in range(2):
        with pytest.raises(NoServer):
            to.connect()

    assert len(told) == 1
    assert told[0].startswith("No server answers at http://127.0.0.1:1/mcp (Connection refused), which AGENT_MAIL_URL")


@pytest.mark.usefixtures("impatient")
def test_a_store_that_somebody_keeps_and_does_not_serve_is_told(tmp_path: Path) -> None:
    with owned(tmp_path / "store", None), pytest.raises(NoServer, match="is in use, but nobody serves it"):
        upstream_of(tmp_path / "store").connect()


@pytest.mark.usefixtures("impatient")
def test_what_another_is_starting_is_not_started_twice(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with sole_starter(root), pytest.raises(NoServer, match="No server came up for the store"):
        upstream_of(root).connect()

    assert [path.name for path in root.iterdir()] == ["starting.lock"]


def test_for_who_has_given_up_nobody_is_started_and_nobody_waited_for(tmp_path: Path) -> None:
    given_up = threading.Event()
    given_up.set()
    server = upstream_of(tmp_path)

    with pytest.raises(NoServer):
        server.connect(given_up=given_up)
    with owned(tmp_path, None), pytest.raises(NoServer):
        server.connect(given_up=given_up)

    assert not (tmp_path / "server.log").exists()


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(NoServer, match=r"No server can be started or found: .*file"):
        upstream_of(tmp_path / "file" / "store").connect()


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """In place of the server."""
    file = folder / "python"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(file))


def test_a_server_that_cannot_start_is_told_with_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, "echo no luck; exit 71")

    with pytest.raises(NoServer) as failed:
        upstream_of(tmp_path / "store").connect()

    assert failed.value.message == "The server could not be started: no luck"
    assert failed.value.hint == f"Its log: {tmp_path}/store/server.log"


SERVES = """
import json, os, pathlib, signal
from mcp_agent_mail.store.engine.lock import StoreLock
root = pathlib.Path(os.environ["STORAGE_ROOT"])
with StoreLock(root, root / "mail.sqlite3"):
    (root / "server.json").write_text(json.dumps({"pid": os.getpid(), "url": "URL", "started": "now"}))
    signal.pause()
"""


def test_where_none_runs_one_is_started_and_told_of_until_the_store_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    to = telling(tmp_path / "store", told)
    with ScriptedServer(answer(1)) as server:
        (tmp_path / "serves.py").write_text(SERVES.replace("URL", server.url))
        serve = f"exec {shlex.quote(sys.executable)} {tmp_path}/serves.py"
        program(tmp_path, monkeypatch, f"cd {tmp_path}; [ -e tried ] && {serve}; touch tried; exit 75")

        answered = ask(to)

        pid = json.loads((tmp_path / "store" / "server.json").read_text())["pid"]
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    monkeypatch.setattr(upstream, "START_WITHIN_S", 0.0)
    for told_so in ("No server answers at", "No server came up for the store"):
        with pytest.raises(NoServer, match=told_so):
            to.connect()
    assert answered == b"1"
    (said,) = told
    assert said == (
        f"Started a server in the background: {server.url}, process {pid}, log {tmp_path}/store/server.log. "
        f"It goes on when this client ends; stop it with: kill {pid}"
    )


def test_an_address_over_tls_is_asked_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "START_WITHIN_S", 0.0)
    heard = bytearray()

    def hear() -> None:
        connection, _ = plain.accept()
        with connection:
            heard.extend(connection.recv(1))

    with socket.create_server(("127.0.0.1", 0)) as plain:
        listener = threading.Thread(target=hear)
        listener.start()
        with pytest.raises(NoServer):
            upstream_of(tmp_path, AGENT_MAIL_URL=f"https://127.0.0.1:{plain.getsockname()[1]}").connect()
        listener.join()

    assert heard == bytes([TLS_HANDSHAKE])
