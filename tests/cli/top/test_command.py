"""`am top` on a real terminal beside a real server that comes and goes, and once for scripts."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from tests.cli.command_line import environment
from tests.cli.conftest import Post
from tests.cli.scripted_server import ScriptedServer, answer
from tests.cli.shell import Shell
from tests.cli.top.terminal_session import TerminalSession


def watching(post: Post, home: Path) -> TerminalSession:
    settings = {"STORAGE_ROOT": str(post.server.root), "HTTP_PORT": "1"}
    given = {name: text for name, text in environment(home, **settings).items() if name != "COLUMNS"}
    return TerminalSession("-m", "mcp_agent_mail", "top", "--every", "1", environment=given, cwd=home)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_a_signal_ends_it_and_the_terminal_is_as_before(number: signal.Signals, post: Post, tmp_path: Path) -> None:
    with watching(post, tmp_path) as running:
        running.until(b"am top", b"RedS")
        running.send(number)

        assert running.ended() == 128 + number
        assert running.is_restored()


@pytest.mark.parametrize(
    ("key", "code"),
    [
        pytest.param(b"\x03", 0, id="Ctrl-C"),
        pytest.param(b"q", 0, id="q"),
        pytest.param(b"\x1c", -signal.SIGQUIT, id="by that signal"),
    ],
)
def test_a_key_ends_it_and_the_terminal_is_as_before(key: bytes, code: int, post: Post, tmp_path: Path) -> None:
    with watching(post, tmp_path) as running:
        running.until(b"am top", b"RedS")
        running.type(key)

        assert running.ended() == code
        assert running.is_restored()
        assert b"Traceback" not in running.seen


def test_a_server_that_is_killed_is_told_and_one_that_comes_is_found(stopped_post: Post, tmp_path: Path) -> None:
    server = stopped_post.server
    server.start()
    with watching(stopped_post, tmp_path) as running:
        running.until(b"am top", server.root.name.encode() and b" ok", b"RedS")
        server.kill()
        running.until(b"no server", b"RedS")
        server.start()
        running.until(b" ok", b"RedS")
        server.stop()
        running.until(b"no server")
        running.type(b"\x03")

        assert running.ended() == 0
        assert running.is_restored()


def test_a_store_that_is_damaged_meanwhile_is_told(stopped_post: Post, tmp_path: Path) -> None:
    with watching(stopped_post, tmp_path) as running:
        running.until(b"no server", b"RedS")
        for path in stopped_post.server.root.glob("mail.sqlite3*"):
            path.write_bytes(b"no database at all")
        running.until(b"mail.sqlite3")
        running.send(signal.SIGTERM)

        assert running.ended() == 128 + signal.SIGTERM
        assert running.is_restored()


def test_no_line_is_wider_and_no_frame_higher_than_the_terminal(post: Post, tmp_path: Path) -> None:
    with watching(post, tmp_path) as running:
        running.until(b"am top", b"\x1b[J")
        running.send(signal.SIGTERM)
        running.ended()

    first = running.seen.split(b"\x1b[H")[1].split(b"\x1b[J")[0].decode()
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", first).split("\r\n")
    assert len(lines) < 24
    assert max(len(line.rstrip("\r")) for line in lines) <= 100


def test_once_is_cells_for_a_script(at_post: Shell) -> None:
    done = at_post.am("top", "--once")

    cells = dict(done.lines())
    assert (done.code, done.err, cells["server"]) == (0, "", "ok")
    assert int(cells["agents"]) >= 2
    assert {"unread", "leases", "calls/s", "p95", "pending"} <= cells.keys()


def test_json_is_one_look_with_everything(at_post: Shell, post: Post) -> None:
    value = at_post.am("top", "--json").json()

    assert (value["server"], value["projects_seen"]) == ("ok", value["projects"])
    assert value["calls"]["window_s"] >= 1
    assert value["calls"]["p95_ms_since_start"] > 0
    (red,) = (one for one in value["agents_shown"] if one["name"] == "RedStone" and "-shop-" in one["project"])
    assert (red["program"], red["listening"]) == ("tester", False)
    assert value["pending_events"] is not None
    assert post.server.pid


def test_without_a_server_the_store_tells_what_it_knows(at_stopped: Shell) -> None:
    done = at_stopped.am("top", "--once", "--json")

    value = done.json()
    assert (done.code, value["server"], value["agents"], value["unread"]) == (0, "none", 2, 1)
    assert value["calls"] is None


# As `health_check` answers.
ERROR = {
    "status": "error",
    "version": "1",
    "archive": {},
    "store": {"last_error": "The disk is gone."},
}


def test_once_of_a_server_that_says_error_is_a_refusal_with_the_reason(shell: Shell) -> None:
    with ScriptedServer(answer([]), at_once={"/rpc/health_check": answer(ERROR)}) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("top", "--once")

    assert done.code == 1
    assert dict(done.lines())["server"] == "error"
    assert dict(done.lines())["problem"] == "store: The disk is gone."


@pytest.mark.parametrize(("kind", "status"), [("UNAVAILABLE", 503), ("RATE_LIMITED", 429), ("PERMISSION_DENIED", 403)])
def test_once_of_a_server_that_refuses_is_a_refusal_too(kind: str, status: int, shell: Shell) -> None:
    refusal = {"error": {"type": kind, "message": "Not now.", "data": {"retry_after_s": 1}}}
    with ScriptedServer(answer(refusal, status=status)) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("top", "--once")

    assert done.code == 1
    assert f"Error ({kind}): Not now." in done.err


def test_with_neither_it_says_how_to_start_one(shell: Shell) -> None:
    shell.set(STORAGE_ROOT=str(shell.home / "none"))

    done = shell.am("top", "--once")

    assert done.code == 69
    assert "am serve" in done.err


def test_a_pipe_is_no_terminal_to_watch_on(at_post: Shell) -> None:
    done = at_post.am("top")

    assert done.code == 0
    assert "\x1b" not in done.out
    assert json.dumps(done.lines()[0]) == '["server", "ok"]'
