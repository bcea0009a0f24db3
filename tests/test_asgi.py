"""The server in processes of others: alone under uvicorn, and below a prefix of the parent that the how-to shows."""

from __future__ import annotations

import asyncio
import errno
import http.client
import json
import os
import signal
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_types import TextContent
from starlette.applications import Starlette
from starlette.routing import Mount

from mcp_agent_mail.asgi import create_app, lifespan
from mcp_agent_mail.core.settings.sources import SettingsError
from mcp_agent_mail.core.store_owner import read_owner
from mcp_agent_mail.store.engine.lock import StoreInUse
from tests.entry_points import install
from tests.pages.blocks import ROOT, blocks_of
from tests.served import CALL_WITHIN_S, Connection, git, pause
from tests.under_uvicorn import ENDS_WITHIN_S, UnderUvicorn, mcp_session, under_uvicorn

PAGE = ROOT / "docs" / "how-to" / "embed-in-an-application.md"
ALONE, MOUNTED = "mcp_agent_mail.asgi:app", "parent:parent"
STOPPED = (0, -signal.SIGTERM)


@contextmanager
def parent(directory: Path, **settings: str) -> Iterator[UnderUvicorn]:
    """The parent application as the page has it."""
    parents = next(text for language, text in blocks_of(PAGE, "python") if "Mount(" in text)
    (directory / "parent.py").write_text(parents)
    with under_uvicorn(directory, MOUNTED, **settings) as server:
        yield server


def settings_of(directory: Path) -> dict[str, str]:
    return {"STORAGE_ROOT": str(directory / "store"), "AGENT_MAIL_ENV_FILE": os.devnull}


def two_agents(connection: Connection, prefix: str = "") -> None:
    post(connection, prefix, "ensure_project", human_key="/code/app")
    for name in ("BlueLake", "RedStone"):
        post(connection, prefix, "register_agent", project_key="/code/app", name=name, program="test", model="none")


def post(connection: Connection, prefix: str, tool: str, /, **arguments: Any) -> Any:
    body = json.dumps(arguments).encode()
    answer = connection.request("POST", f"{prefix}/rpc/{tool}", body, {"Content-Type": "application/json"})
    assert answer.status == http.client.OK, answer.value
    return answer.value


def send(connection: Connection, prefix: str, subject: str) -> Any:
    mail = {"project_key": "/code/app", "sender_name": "BlueLake", "to": ["RedStone"]}
    return post(connection, prefix, "send_message", subject=subject, body_md="…", **mail)


def subjects(connection: Connection, prefix: str) -> list[str]:
    inbox = post(connection, prefix, "fetch_inbox", project_key="/code/app", agent_name="RedStone")
    return [one["subject"] for one in inbox]


def test_under_uvicorn_it_is_the_server_of_the_environment_with_no_door_open(tmp_path: Path) -> None:
    with under_uvicorn(tmp_path, ALONE) as server, server.connect() as connection:
        two_agents(connection)
        send(connection, "", "Hello")
        read = subjects(connection, "")
        door = connection.request("POST", "/agents/alice/mcp/", b"{}", {"Content-Type": "application/json"})
        status = server.am("status")
        code = server.end()

    assert read == ["Hello"]
    assert door.status == http.client.NOT_FOUND
    assert status.returncode == 0, status.stdout + status.stderr
    assert server.url("") in status.stdout
    assert code in STOPPED
    assert {line.partition(":")[0] for line in server.log.read_text().splitlines()} == {"INFO"}


async def test_a_parent_serves_mcp_and_its_own_pages_and_commands_find_it_below_the_prefix(tmp_path: Path) -> None:
    with parent(tmp_path) as server:
        before = read_owner(server.root)
        with server.connect() as connection:
            two_agents(connection, "/mail")
            own = connection.request("GET", "/hello")
            ready = connection.request("GET", "/mail/health/readiness")
            nothing = connection.request("GET", "/mail/nothing")
        async with mcp_session(server.url("/mail/mcp")) as session:
            listed = await session.list_tools()
            mail = {"project_key": "/code/app", "sender_name": "BlueLake", "to": ["RedStone"]}
            sent = await session.call_tool("send_message", {**mail, "subject": "By MCP", "body_md": "…"})
            inbox = await session.call_tool("fetch_inbox", {"project_key": "/code/app", "agent_name": "RedStone"})
            text = inbox.content[0]
        owner, status = read_owner(server.root), server.am("status")
        code = server.end()

    assert own.status == http.client.OK
    assert ready.value == {"status": "ready"}
    assert nothing.status == http.client.NOT_FOUND
    assert "send_message" in {tool.name for tool in listed.tools}
    assert (sent.is_error, inbox.is_error) == (False, False)
    assert isinstance(text, TextContent)
    assert [one["subject"] for one in json.loads(text.text)] == ["By MCP"]
    assert before is not None
    assert before.url is None
    assert owner is not None
    assert owner.url == server.url("/mail")
    assert status.returncode == 0, status.stdout + status.stderr
    assert code in STOPPED


@pytest.mark.parametrize("application", [ALONE, MOUNTED])
def test_whoever_comes_second_says_who_owns_the_store_and_does_not_start(tmp_path: Path, application: str) -> None:
    with parent(tmp_path) as server:
        with server.connect() as connection:
            two_agents(connection, "/mail")
        with under_uvicorn(tmp_path, application) as second:
            code = second.process.wait(ENDS_WITHIN_S)
            told = second.log.read_text()
        serving = server.am("serve", "--port", "0")

    facts = f"The store in {server.root} is in use by process {server.process.pid}, which serves {server.url('/mail')}."
    assert code not in STOPPED
    assert facts in told
    assert serving.returncode == os.EX_TEMPFAIL
    assert facts in serving.stderr


def test_of_two_workers_the_second_says_who_owns_the_store_and_uvicorn_ends(tmp_path: Path) -> None:
    with under_uvicorn(tmp_path, ALONE, options=["--workers", "2"]) as server:
        server.process.wait(ENDS_WITHIN_S)
        told = server.log.read_text()
    with under_uvicorn(tmp_path, ALONE) as server, server.connect() as connection:
        two_agents(connection)
        send(connection, "", "Served")
        read = subjects(connection, "")

    workers = {line.split("[")[1].rstrip("]") for line in told.splitlines() if "Started server process" in line}
    (owner,) = {
        line.partition("is in use by process ")[2].split(".")[0] for line in told.splitlines() if "in use" in line
    }
    assert owner in workers
    assert read == ["Served"]


def test_what_was_answered_is_there_after_a_kill(tmp_path: Path) -> None:
    with parent(tmp_path) as server, server.connect() as connection:
        two_agents(connection, "/mail")
        for number in range(5):
            send(connection, "/mail", f"Mail {number}")
        server.end(signal.SIGKILL)
    with parent(tmp_path) as server, server.connect() as connection:
        read = subjects(connection, "/mail")

    assert sorted(read) == [f"Mail {number}" for number in range(5)]


@pytest.mark.parametrize(("application", "prefix"), [(ALONE, ""), (MOUNTED, "/mail")])
def test_a_stop_answers_who_waits_ends_streams_and_leaves_all_in_git(
    tmp_path: Path, application: str, prefix: str
) -> None:
    answers: list[Any] = []
    with parent(tmp_path) as server, server.connect() as connection:
        two_agents(connection, "/mail")
        server.end()
    with under_uvicorn(tmp_path, application) as server, server.connect() as connection:

        def wait() -> None:
            who = {"project_key": "/code/app", "agent_name": "BlueLake", "timeout_s": 50}
            sent = {"Content-Type": "application/json"}
            with server.connect() as waiting:
                body = json.dumps(who).encode()
                answers.append(waiting.request("POST", f"{prefix}/rpc/wait_for_messages", body, sent).error)

        waiter = threading.Thread(target=wait)
        waiter.start()
        with open_stream(server, prefix) as stream:
            while post(connection, prefix, "health_check")["delivery"]["waits"] != 1:
                pause()
            send(connection, prefix, "At the last moment")
            connection.close()
            code = server.end()
            rest = stream.read()
        waiter.join(ENDS_WITHIN_S)

    project = next((server.root / "projects").iterdir())
    assert code in STOPPED
    assert answers[0]["type"] == "UNAVAILABLE"
    assert rest is not None
    assert "At the last moment" in git(project, "log", "--format=%B", "--stat", "-p", "HEAD")


@contextmanager
def open_stream(server: UnderUvicorn, prefix: str) -> Iterator[http.client.HTTPResponse]:
    """The event stream of an MCP session, which a client holds open."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).encode()
    accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=CALL_WITHIN_S)
    try:
        connection.request("POST", f"{prefix}/mcp", body, accepted)
        answer = connection.getresponse()
        answer.read()
        session = {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        connection.request("GET", f"{prefix}/mcp", headers={"Accept": "text/event-stream", **session})
        yield connection.getresponse()
    finally:
        connection.close()


async def test_outside_of_its_lifespan_it_answers_503_and_says_what_is_missing(tmp_path: Path) -> None:
    mail = create_app(settings_of(tmp_path))
    application = Starlette(routes=[Mount("/mail", app=mail)])
    async with client_of(application) as client:
        before = await client.get("/mail/health/liveness")
        over_mcp = [await client.post(f"/mail{path}", json={}) for path in ("/mcp", "/api/")]
        async with lifespan(mail):
            within = await client.get("/mail/health/liveness")
        after = await client.get("/mail/health/liveness")
        async with lifespan(mail):
            again = await client.get("/mail/health/liveness")

    assert [one.status_code for one in (before, within, after, again)] == [503, 200, 503, 200]
    assert "async with mcp_agent_mail.asgi.lifespan(app)" in before.json()["detail"]
    assert list(before.json()) == ["detail"]
    for answer in over_mcp:
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["message"]) == (503, -32603, before.json()["detail"])


def client_of(application: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=application)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765")


async def test_two_of_them_in_one_process_do_not_share_a_store(tmp_path: Path) -> None:
    first, second = create_app(settings_of(tmp_path), url="http://127.0.0.1:1/mail/"), create_app(settings_of(tmp_path))
    async with lifespan(first):
        with pytest.raises(StoreInUse) as refused:
            async with lifespan(second):
                pass
        async with client_of(first) as client:
            still = await client.get("/health/readiness")

    assert f"in use by process {os.getpid()}, which serves http://127.0.0.1:1/mail." in refused.value.message
    assert still.status_code == http.client.OK


async def test_a_prefix_that_is_a_proxys_is_announced_to_nobody(tmp_path: Path) -> None:
    mail = create_app(settings_of(tmp_path))
    async with lifespan(mail):
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=mail, root_path="/proxied"), base_url="http://127.0.0.1:8765"
        ) as client:
            served = await client.get("/proxied/health/liveness")
        owner = read_owner(tmp_path / "store")

    assert served.status_code == http.client.OK
    assert owner is not None
    assert owner.url is None


async def test_the_process_stays_the_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTMCP_LOG_LEVEL", "ERROR")
    before = dict(os.environ)
    async with lifespan(create_app(settings_of(tmp_path))):
        within = dict(os.environ)

    assert within == before


async def test_mistakes_are_told_where_they_can_be_seen(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no setting STORAGE_ROOTS\. Did you mean STORAGE_ROOT\?"):
        create_app({"STORAGE_ROOTS": str(tmp_path)})
    with pytest.raises(SettingsError, match="AGENT_AUTH"):
        async with lifespan(create_app({**settings_of(tmp_path), "AGENT_AUTH": "perhaps"})):
            pass
    assert os.listdir(tmp_path) == []  # noqa: PTH208  # nobody else waits for it


@pytest.mark.parametrize(
    "opened", [{"POSTAL_ENABLED": "true", "POSTAL_PORT": "8000"}, {"CLAUDE_MAILBOX_ENABLED": "true"}]
)
def test_a_door_with_ports_of_its_own_is_refused(tmp_path: Path, opened: dict[str, str]) -> None:
    with under_uvicorn(tmp_path, ALONE, **opened) as server:
        code = server.process.wait(ENDS_WITHIN_S)

    (setting,) = {name for name in ("POSTAL_PORT", "CLAUDE_MAILBOX_PORTS") if name.partition("_P")[0] in str(opened)}
    assert code not in STOPPED
    assert f"{setting} would open ports of their own" in server.log.read_text()
    assert not server.root.exists()


def test_custom_tools_are_served_and_a_mistake_in_them_is_told_as_am_serve_does(tmp_path: Path) -> None:
    (site := tmp_path / "site").mkdir()
    module = """
    from mcp_agent_mail.extending import tool

    async def wave():
        "Wave."
        return {"waved": True}

    def tools(host):
        return [tool(wave, title="Wave")]
    """
    install(site, "waving", module, wave="tools", broken="tool")
    path = os.pathsep.join((str(site), str(ROOT / "src")))
    with under_uvicorn(tmp_path, ALONE, PYTHONPATH=path, CUSTOM_TOOLS="broken") as server:
        server.process.wait(ENDS_WITHIN_S)
    with under_uvicorn(tmp_path, ALONE, PYTHONPATH=path, CUSTOM_TOOLS="wave") as good, good.connect() as connection:
        waved = post(connection, "", "wave")

    told = server.log.read_text()
    assert "CUSTOM_TOOLS cannot be served. broken: its function failed: TypeError" in told
    assert "Traceback" not in told
    assert waved == {"waved": True}


def test_a_web_socket_is_turned_away(tmp_path: Path) -> None:
    with under_uvicorn(tmp_path, ALONE) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(
            b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        answer = client.recv(4_096)

    assert answer.startswith(b"HTTP/1.1 4")
    assert "Traceback" not in server.log.read_text()


def test_a_store_that_cannot_be_made_is_told_by_uvicorn_and_ends_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with under_uvicorn(tmp_path, ALONE, STORAGE_ROOT=str(tmp_path / "file" / "store")) as server:
        code = server.process.wait(ENDS_WITHIN_S)

    told = server.log.read_text()
    assert code != 0
    assert "Application startup failed" in told
    assert "Not a directory" in told


FAILURES: dict[str, Callable[[], BaseException]] = {
    "a bug": lambda: ValueError("of the parent"),
    "its own database": lambda: sqlite_error(sqlite3.SQLITE_BUSY),
    "its own full disk": lambda: OSError(errno.ENOSPC, "No space left on device"),
    "its own read-only disk": lambda: sqlite_error(sqlite3.SQLITE_READONLY),
    "an end": asyncio.CancelledError,
    "a group of its own": lambda: ExceptionGroup("of the parent", [ValueError("one")]),
}


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("of the parent")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize("failure", FAILURES)
async def test_what_fails_in_the_parents_own_lifespan_comes_out_as_it_is(tmp_path: Path, failure: str) -> None:
    raised = FAILURES[failure]()
    mail = create_app(settings_of(tmp_path))

    with pytest.raises(type(raised)) as came:
        async with lifespan(mail):
            raise raised

    assert came.value is raised
    assert raised.__cause__ is None
    async with lifespan(mail):
        assert read_owner(tmp_path / "store") is not None
