"""`agentmail mcp` as a client runs it, in a window of a real tmux and outside of any."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.agentmail.mcp_server import end_with
from mcp_agent_mail.cli.agentmail.mcp_tools import MAX_MESSAGE_BYTES
from mcp_agent_mail.cli.agentmail.tmux_windows import TmuxPane
from mcp_agent_mail.cli.stdio.messages import VERSIONS
from tests.cli.agentmail.mcp_client import McpProcess
from tests.cli.agentmail.test_commands import NONE, given, sent
from tests.cli.agentmail.tmux_session import AgentMailHome, TmuxSession, needs_tmux, tmux_session
from tests.served import Served

ME = {"AGENTMAIL_NAME": "me"}
NO_START = {"AGENT_MAIL_URL": "http://127.0.0.1:9"}
"""No server is there, and none is started."""


def text_of(result: Any) -> str:
    (content,) = result["content"]
    assert content["type"] == "text"
    text: str = content["text"]
    return text


# --- without a server ---


def test_four_tools_are_listed_without_any_server(home: AgentMailHome) -> None:
    with McpProcess(home, {**ME, **NO_START}) as client:
        hello = client.opens()
        tools = client.asks("tools/list")["result"]["tools"]
        code = client.end()

    assert hello["serverInfo"] == {"name": "agentmail", "version": "dev"}
    assert [tool["name"] for tool in tools] == ["send", "receive", "status", "list-recipients"]
    assert all(tool["description"] and tool["inputSchema"]["additionalProperties"] is False for tool in tools)
    send = tools[0]["inputSchema"]
    assert send["required"] == ["recipient", "message"]
    assert send["properties"]["message"]["maxLength"] == 65_536
    assert tools[2]["inputSchema"]["properties"]["status"]["enum"] == ["ready", "work", "offline"]
    assert code == 0
    assert not home.store.exists()


def test_nothing_that_serves_is_imported_for_the_list(home: AgentMailHome) -> None:
    program = (
        "import io, os, sys\n"
        "from mcp_agent_mail.cli.agentmail import entry, mcp_server\n"
        "code = entry.run(['mcp'])\n"
        "heavy = {'fastmcp', 'mcp', 'pydantic', 'typer', 'asyncio', 'sqlite3', 'uvicorn', 'starlette'}\n"
        "sys.stderr.write(repr(sorted(heavy & set(sys.modules))))\n"
    )
    lines = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n'
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        cwd=home.code,
        env=home.environment({**ME, **NO_START}),
    )

    assert len(json.loads(done.stdout)["result"]["tools"]) == 4
    assert done.stderr == "[]"


@pytest.mark.parametrize("wanted", [*VERSIONS, "2099-01-01", None])
def test_a_version_that_is_known_is_spoken(wanted: str | None, home: AgentMailHome) -> None:
    with McpProcess(home, {**ME, **NO_START}) as client:
        answer = client.asks("initialize", {"protocolVersion": wanted, "capabilities": {}})

    assert answer["result"]["protocolVersion"] == (wanted if wanted in VERSIONS else VERSIONS[-1])


@pytest.mark.parametrize("line", [b"{", b"\xff\xfe{}", b"[" * 100_000, b'{"a": }', b"nonsense"])
def test_a_broken_line_is_a_parse_error_and_the_next_is_served(line: bytes, home: AgentMailHome) -> None:
    with McpProcess(home, {**ME, **NO_START}) as client:
        client.writes(line)
        refused = client.reads()
        alive = client.asks("ping")
        code = client.end()
        complaints = client.complaints()

    assert (refused["id"], refused["error"]["code"]) == (None, -32700)
    assert alive["result"] == {}
    assert code == 0
    assert complaints == "agentmail mcp: Parse error\n"


@pytest.mark.parametrize(
    ("message", "number", "code"),
    [
        ([], None, -32600),
        ({"id": 1, "method": "ping"}, None, -32600),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None, -32600),
        ({"jsonrpc": "2.0", "id": "a", "method": "resources/list"}, "a", -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nope"}}, 1, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "send", "arguments": []}}, 1, None),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "send", "arguments": [1]}}, 1, -32602),
    ],
)
def test_what_is_no_request_of_ours_is_refused(
    message: Any, number: Any, code: int | None, home: AgentMailHome
) -> None:
    with McpProcess(home, {**ME, **NO_START}) as client:
        client.writes(b'{"jsonrpc": "2.0", "method": "notifications/cancelled"}')
        client.writes(b'{"jsonrpc": "2.0", "id": 9, "result": {}}')
        client.writes(json.dumps(message).encode())
        answer = client.reads()

    assert answer["id"] == number
    assert answer.get("error", {}).get("code") == code


def test_outside_tmux_it_says_so_and_ends(home: AgentMailHome) -> None:
    for environ in ({}, {"TMUX": f"{home.root}/none,1,0", "TMUX_PANE": "%0"}):
        done = home.run("mcp", stdin="", environ=environ)

        assert (done.stdout, done.returncode) == ("", 1)
        assert done.stderr == "error: not running inside a tmux session\n"


def test_a_server_that_is_lost_is_a_line_and_a_refusal(home: AgentMailHome) -> None:
    with McpProcess(home, {**ME, **NO_START}) as client:
        refused = client.calls("receive")
        client.end()
        complaints = client.complaints()

    assert refused["isError"] is True
    assert text_of(refused).startswith("no answer from the agent-mail server: ")
    assert complaints == f"agentmail mcp: receive: {text_of(refused)}\n"


def test_it_ends_where_nobody_reads_its_answers(home: AgentMailHome) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail.cli.agentmail.entry", "mcp"],
        input=b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n',
        stdout=write,
        check=False,
        cwd=home.code,
        env=home.environment(ME),
    )
    os.close(write)

    assert done.returncode == 1


# --- in windows, beside a server ---


@needs_tmux
def test_mail_is_the_same_by_mcp_and_by_the_command(session: TmuxSession) -> None:
    with McpProcess(session.home, session.environ("a1")) as client:
        client.opens()
        out = client.calls("send", recipient="a2", message="by mcp\n")
        number = out["structuredContent"]["message_id"]
        by_command = session.says("a2", "receive")
        answer = sent(session.says("a2", "send", "a1", "by\ncommand"))
        received = client.calls("receive")
        empty = client.calls("receive")

    assert text_of(out) == f"Message #{number} sent"
    assert by_command == given("a1", number, "by mcp\n")
    assert received["structuredContent"] == {"from": "a2", "id": answer, "message": "by\ncommand"}
    assert text_of(received) == given("a2", answer, "by\ncommand")[0]
    assert (text_of(empty), empty["structuredContent"]) == ("No unread messages", {"status": "No unread messages"})
    assert session.says("a1", "receive") == NONE


@needs_tmux
def test_a_whole_cycle_of_the_four_tools(session: TmuxSession, server: Served) -> None:
    (session.home.code / ".agentmailignore").write_text("a3\n")
    with McpProcess(session.home, session.environ("a1")) as client:
        client.opens()
        ready = client.calls("status", status="ready")
        listed = client.calls("list-recipients")
        client.calls("send", recipient="a2", message="hi")
        sent(session.says("a2", "send", "a1", "hello"))
        received = client.calls("receive")
        client.calls("status", status="work")
        with server.connect() as connection:
            agents = connection.call("list_agents", project_key=str(session.home.code))["agents"]

    assert (text_of(ready), ready["structuredContent"]) == ('{"status":"ok"}', {"status": "ok"})
    shown = [{"name": "a1", "is_current": True}, {"name": "a2", "is_current": False}]
    assert listed["structuredContent"] == {"recipients": shown}
    assert json.loads(text_of(listed)) == {"recipients": shown}
    assert text_of(received).endswith("\n\nhello")
    assert {agent["name"]: agent["status"] for agent in agents}["a1"] == "busy"


@needs_tmux
def test_refusals_are_the_tools_own_words(session: TmuxSession) -> None:
    with McpProcess(session.home, session.environ("a1")) as client:
        client.opens()
        refused = {
            "recipient not found": client.calls("send", recipient="nope", message="hi"),
            "cannot send message to self": client.calls("send", recipient="A1", message="hi"),
            "no message provided": client.calls("send", recipient="a2", message=""),
            "Invalid status: bogus. Valid: ready, work, offline": client.calls("status", status="bogus"),
            "unknown argument: more": client.calls("receive", more=1),
            "message must be a string": client.calls("send", recipient="a2", message=5),
        }

    assert {words: (text_of(one), one["isError"]) for words, one in refused.items()} == {
        words: (words, True) for words in refused
    }


@needs_tmux
def test_64_kilobytes_go_and_a_byte_more_is_an_error_of_the_protocol(session: TmuxSession) -> None:
    fits, large = "é" * (MAX_MESSAGE_BYTES // 2), "é" * (MAX_MESSAGE_BYTES // 2) + "x"
    with McpProcess(session.home, session.environ("a1")) as client:
        client.opens()
        done = client.calls("send", recipient="a2", message=fits)
        refused = client.asks("tools/call", {"name": "send", "arguments": {"recipient": "a2", "message": large}})
        client.end()
        complaints = client.complaints()

    assert refused["error"] == {
        "code": -32602,
        "message": "message exceeds maximum size of 64KB",
        "data": {"limit": 65_536, "size": 65_537},
    }
    assert complaints == "agentmail mcp: message exceeds maximum size of 64KB\n"
    number = done["structuredContent"]["message_id"]
    assert session.says("a2", "receive") == given("a1", number, fits)
    assert session.says("a2", "receive") == NONE


@needs_tmux
def test_with_nobody_else_it_says_so(home: AgentMailHome, server: Served) -> None:
    assert server.port
    with tmux_session(home, ["alone"]) as session, McpProcess(home, session.environ("alone")) as client:
        client.opens()
        listed = client.calls("list-recipients")

    assert listed["structuredContent"] == {
        "recipients": [{"name": "alone", "is_current": True}],
        "message": "No recipients available",
    }


@needs_tmux
def test_a_window_that_is_renamed_meanwhile_is_the_same_agent(session: TmuxSession) -> None:
    with McpProcess(session.home, session.environ("a1")) as client:
        client.opens()
        client.calls("status", status="ready")
        session.tmux("rename-window", "-t", session.panes["a1"], "b1")
        number = sent(session.says("a2", "send", "b1", "hi"))

        assert client.calls("receive")["structuredContent"]["id"] == number


class PaneUntil(TmuxPane):
    """Stands until an instant of the time that is slept."""

    __slots__ = ("now", "until")

    def __init__(self, until: float) -> None:
        super().__init__({"TMUX": "/s,1,0", "TMUX_PANE": "%0"})
        self.now = 0.0
        self.until = until

    def is_there(self) -> bool:
        return self.now < self.until

    def sleeps(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("gone_at", [0.01, 7.0, 7.25, 7.5, 60.01])
def test_it_looks_at_tmux_so_often_that_a_second_is_enough(gone_at: float, capfd: pytest.CaptureFixture[str]) -> None:
    """By the time that is slept: half of the second is left for the look itself and for the end."""
    pane, ended = PaneUntil(gone_at), list[tuple[int, float]]()

    end_with(pane, pane.sleeps, lambda code: ended.append((code, pane.now)))

    ((code, at),) = ended
    assert code == 1
    assert gone_at <= at <= gone_at + 0.5
    assert capfd.readouterr().err == "agentmail mcp: the tmux session is gone\n"


def test_the_end_of_its_input_is_0_also_behind_a_call_that_failed(home: AgentMailHome) -> None:
    with McpProcess(home, {**ME, **NO_START}) as client:
        client.opens()
        failed = client.calls("receive")
        code = client.end()

    assert failed["isError"] is True
    assert code == 0


@needs_tmux
def test_the_end_of_its_input_is_0_in_a_window(session: TmuxSession) -> None:
    with McpProcess(session.home, session.environ("a1")) as client:
        client.opens()
        code = client.end()

    assert code == 0


@needs_tmux
@pytest.mark.parametrize("end", ["kill-server", "kill-session", "kill-pane"])
def test_it_ends_with_1_when_tmux_is_gone(session: TmuxSession, end: str) -> None:
    with McpProcess(session.home, session.environ("a1")) as client:
        client.opens()
        session.tmux(end, *([] if end == "kill-server" else ["-t", session.panes["a1"]]))
        code = client.exit_code()

        assert code == 1
        assert client.complaints().endswith("agentmail mcp: the tmux session is gone\n")


@needs_tmux
def test_it_ends_while_a_call_is_waiting(session: TmuxSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environ = {**session.environ("a1"), "AGENT_MAIL_URL": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        with McpProcess(session.home, environ) as client:
            client.opens()
            client.writes(b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "receive"}}')
            asking, _ = silent.accept()
            with asking:
                session.tmux("kill-server")

                assert client.exit_code() == 1
                assert client.reads() is None


@needs_tmux
def test_a_server_that_starts_anew_is_found_again(session: TmuxSession, server: Served) -> None:
    with McpProcess(session.home, session.environ("a1")) as client:
        client.opens()
        first = client.calls("send", recipient="a2", message="one")
        server.kill()
        server.start()
        second = client.calls("send", recipient="a2", message="two")

    assert "isError" not in first
    assert "isError" not in second


def test_the_end_of_its_input_leaves_the_server_that_it_started(home: AgentMailHome, tmp_path: Path) -> None:
    try:
        with McpProcess(home, ME) as client:
            client.opens()
            client.calls("status", status="ready")
            code = client.end()
        pid = json.loads((home.store / "server.json").read_text())["pid"]
        os.kill(pid, 0)
    finally:
        home.stop_server()

    assert code == 0
    assert not any(tmp_path.glob("code/.agentmail*"))
