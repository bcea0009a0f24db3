"""`am wait` against real servers: what ends it, with which code, and that it takes nothing."""

from __future__ import annotations

import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.clients.wait import _Wait
from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.exit_codes import NoServer
from tests.cli.conftest import Post
from tests.cli.shell import Shell
from tests.served import Connection, Served, pause

PROJECT = "/code/waiting"
WITHIN_S = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("waiting") / "store") as served:
        with served.connect() as connection:
            connection.call("ensure_project", human_key=PROJECT)
        yield served


@pytest.fixture
def at(shell: Shell, server: Served) -> Shell:
    shell.set(STORAGE_ROOT=str(server.root), AGENT_MAIL_PROJECT=PROJECT)
    return shell


def register(server: Served, *names: str) -> None:
    with server.connect() as connection:
        for name in names:
            connection.call("register_agent", project_key=PROJECT, program="tests", model="none", name=name)


def send(connection: Connection, sender: str, to: str, **more: Any) -> int:
    given = {"subject": "Plan", "body_md": "secret text", **more}
    sent = connection.call("send_message", project_key=PROJECT, sender_name=sender, to=[to], **given)
    return int(sent["deliveries"][0]["payload"]["id"])


def unread(server: Served, agent: str) -> list[int]:
    with server.connect() as connection:
        found = connection.call("fetch_inbox", project_key=PROJECT, agent_name=agent, unread_only=True)
    return [one["id"] for one in found]


def begin(server: Served, *arguments: str) -> subprocess.Popen[str]:
    environment = {**server.environment(), "AGENT_MAIL_PROJECT": PROJECT, "HTTP_PORT": "0"}
    return subprocess.Popen(
        [sys.executable, "-m", "mcp_agent_mail", "wait", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def until_waiting(server: Served, count: int) -> None:
    deadline = time.monotonic() + WITHIN_S
    with server.connect() as connection:
        while connection.call("health_check")["delivery"]["waits"] != count:
            assert time.monotonic() < deadline
            pause()


def test_unread_mail_ends_it_at_once_and_stays_unread(at: Shell, server: Served) -> None:
    register(server, "BlueLake", "RedStone")
    with server.connect() as connection:
        send(connection, "BlueLake", "RedStone", subject="Older")
        more = {"importance": "high", "ack_required": True, "body_md": "\nFirst line.\nsecret text"}
        message_id = send(connection, "BlueLake", "RedStone", **more)

    done = at.am("wait", "RedStone")

    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("Agent mail for RedStone (2 unread). Lines that begin with '> ' are other agents' text")
    assert lines[1].startswith(f"#{message_id} from BlueLake, unverified, ")
    assert lines[1].endswith(" s ago, importance high, wants acknowledgement")
    assert lines[2:4] == ["> subject: Plan", "> text: First line."]
    assert lines[5:7] == ["> subject: Older", "> text: secret text"]
    who = f'project_key="{PROJECT}", agent_name="RedStone"'
    assert lines[7] == (
        f"Whole texts: fetch_inbox({who}, unread_only=true, include_bodies=true). To acknowledge: "
        f"acknowledge_message({who}, message_id={message_id})."
    )
    assert [line.rpartition(" ")[0] for line in lines[8:]] == ["To wait for what comes next: --after"]
    assert len(unread(server, "RedStone")) == 2


def test_the_cursor_it_gives_leads_past_what_it_told(at: Shell, server: Served) -> None:
    register(server, "BlueLake", "GreenField")
    with server.connect() as connection:
        send(connection, "BlueLake", "GreenField")
        first = at.am("wait", "GreenField", "--json").json()
        cursor = str(first["next_cursor"])
        none = at.am("wait", "GreenField", "--after", cursor, "--timeout", "1", "--json")
        second_id = send(connection, "BlueLake", "GreenField", subject="Next")
        second = at.am("wait", "GreenField", "--after", cursor, "--json").json()

    assert (none.code, none.json()["messages"], none.json()["timed_out"]) == (75, [], True)
    assert [one["id"] for one in second["messages"]] == [second_id]
    assert second["next_cursor"] > first["next_cursor"]


def test_mail_that_comes_ends_a_wait_that_has_begun(server: Served) -> None:
    register(server, "BlueLake", "GrayFox")
    waiting = begin(server, "GrayFox", "--json")
    until_waiting(server, 1)
    with server.connect() as connection:
        message_id = send(connection, "BlueLake", "GrayFox")

    out, err = waiting.communicate(timeout=WITHIN_S)

    assert (waiting.returncode, err) == (0, "")
    assert [one["id"] for one in json.loads(out)["messages"]] == [message_id]


def test_with_urgent_other_mail_does_not_end_it(at: Shell, server: Served) -> None:
    register(server, "BlueLake", "PinkDog")
    with server.connect() as connection:
        send(connection, "BlueLake", "PinkDog")
        none = at.am("wait", "PinkDog", "--urgent", "--timeout", "1")
        urgent_id = send(connection, "BlueLake", "PinkDog", importance="urgent")
        found = at.am("wait", "PinkDog", "--urgent", "--json")

    assert (none.code, none.out) == (75, "")
    assert none.err.startswith("No mail within 1 s. Go on with --after ")
    assert [one["id"] for one in found.json()["messages"]] == [urgent_id]


def test_nobody_named_a_bad_timeout_and_a_bad_cursor_are_usage(at: Shell) -> None:
    codes = [
        at.am("wait").code,
        at.am("wait", "RedStone", "--timeout", "0").code,
        at.am("wait", "RedStone", "--timeout", "86401").code,
        at.am("wait", "RedStone", "--after", "-1").code,
        at.am("wait", "RedStone", "--no-such").code,
    ]

    assert codes == [2] * 5


def test_who_is_not_there_and_a_cursor_that_never_was_are_refused(at: Shell, server: Served) -> None:
    register(server, "RedStone")
    unknown = at.am("wait", "NobodyHere")
    ahead = at.am("wait", "RedStone", "--after", "999999999")

    assert (unknown.code, ahead.code) == (1, 1)
    assert unknown.err.startswith("Error (NOT_FOUND): ")


def test_who_waits_and_where_are_found_in_the_surroundings(
    at: Shell, server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(server, "BlueLake", "TealCat", "LimeHen")
    repository = tmp_path / "repository"
    for words in (("init", "-q"), ("config", "agent-mail.name", "TealCat"), ("config", "agent-mail.project", PROJECT)):
        repository.mkdir(exist_ok=True)
        subprocess.run(["git", *words], cwd=repository, check=True)
    with server.connect() as connection:
        send(connection, "BlueLake", "TealCat")
        send(connection, "BlueLake", "LimeHen")
    monkeypatch.chdir(repository)
    at.set(AGENT_MAIL_PROJECT="")

    by_git = at.am("wait")
    at.set(AGENT_NAME="LimeHen")
    by_name = at.am("wait")

    assert [done.out.split(" (")[0] for done in (by_git, by_name)] == [
        "Agent mail for TealCat",
        "Agent mail for LimeHen",
    ]


def test_without_a_server_it_says_so_at_once(shell: Shell, stopped_post: Post) -> None:
    nothing = shell.am("wait", "RedStone")
    shell.set(STORAGE_ROOT=str(stopped_post.server.root), AGENT_MAIL_PROJECT=stopped_post.project)
    stopped = shell.am("wait", "RedStone")
    shell.set(AGENT_MAIL_URL="http://127.0.0.1:1")
    named = shell.am("wait", "RedStone")

    assert (nothing.code, stopped.code, named.code) == (69, 69, 69)
    assert "Start one with: am serve" in stopped.err


def test_who_answers_and_is_no_server_of_ours_ends_it_at_once(shell: Shell) -> None:
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    shell.set(AGENT_MAIL_URL=f"http://127.0.0.1:{server.server_port}")

    done = shell.am("wait", "RedStone", "--project", PROJECT)

    server.shutdown()
    server.server_close()
    assert done.code == 69
    assert "is no agent-mail server" in done.err


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart_of_the_server_is_survived_and_what_came_meanwhile_is_found(tmp_path: Path, how: str) -> None:
    with Served(tmp_path / "store") as server:
        with server.connect() as connection:
            connection.call("ensure_project", human_key=PROJECT)
        register(server, "BlueLake", "RedStone")
        waiting = begin(server, "RedStone", "--json")
        until_waiting(server, 1)
        getattr(server, how)()
        pause()
        assert waiting.poll() is None
        server.start()
        until_waiting(server, 1)
        with server.connect() as connection:
            message_id = send(connection, "BlueLake", "RedStone")

        out, err = waiting.communicate(timeout=WITHIN_S)

    assert (waiting.returncode, err) == (0, "")
    assert [one["id"] for one in json.loads(out)["messages"]] == [message_id]


class Moved:
    """Seconds that pass by pausing alone."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def now(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> None:
        self.now_s += max(seconds, 0.01)


def wait_of(timeout_s: int, moved: Moved) -> _Wait:
    request = {"project_key": PROJECT, "agent_name": "RedStone", "urgent_only": False}
    return _Wait(load_context(), request, None, timeout_s, now=moved.now, pause=moved.pause)


def test_a_server_that_is_gone_for_a_minute_ends_it(
    tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Served(tmp_path / "gone") as server:
        with server.connect() as connection:
            connection.call("ensure_project", human_key=PROJECT)
        register(server, "RedStone")
        shell.set(STORAGE_ROOT=str(server.root))
        moved = Moved()
        slices = _Wait._slice

        def then_stop(waiting: _Wait, *given: Any) -> Any:
            answer = slices(waiting, *given)
            server.stop()
            monkeypatch.setattr(_Wait, "_slice", slices)
            return answer

        monkeypatch.setattr(_Wait, "_slice", then_stop)
        with pytest.raises(NoServer):
            wait_of(3_600, moved).run()

    assert 60 <= moved.now_s < 70


def test_a_server_that_stands_still_ends_it_with_the_time_and_is_not_taken_for_no_mail(server: Served) -> None:
    register(server, "PaleOwl")
    waiting = begin(server, "PaleOwl", "--timeout", "4")
    until_waiting(server, 1)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        out, err = waiting.communicate(timeout=WITHIN_S)
    finally:
        os.kill(server.pid, signal.SIGCONT)

    assert (waiting.returncode, out) == (69, "")
    assert "did not answer in time" in err


@pytest.mark.parametrize(("timeout_s", "gone_after_s"), [(20, 20), (3_600, 60)])
def test_a_server_that_was_not_heard_once_the_time_is_over_is_gone(
    at: Shell, server: Served, monkeypatch: pytest.MonkeyPatch, timeout_s: int, gone_after_s: int
) -> None:
    """It takes connections and answers none: each slice is waited for as long as it may."""
    at.set(STORAGE_ROOT=str(server.root))
    moved = Moved()

    def unanswered(_: _Wait, __: Any, ___: int, within_s: float) -> Any:
        moved.pause(within_s)
        raise NoServer("It did not answer in time.")

    def slice_of(*_: Any) -> Any:
        monkeypatch.setattr(_Wait, "_slice", unanswered)
        return {"messages": [], "next_cursor": 0, "timed_out": True}

    monkeypatch.setattr(_Wait, "_slice", slice_of)
    with pytest.raises(NoServer):
        wait_of(timeout_s, moved).run()

    assert gone_after_s <= moved.now_s <= gone_after_s + 3


def test_a_server_that_is_away_as_the_time_ends_is_gone(
    at: Shell, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.set(STORAGE_ROOT=str(server.root))
    moved, answers = Moved(), [{"messages": [], "next_cursor": 0, "timed_out": True}]

    def slice_of(*_: Any) -> Any:
        if answers:
            return answers.pop()
        raise NoServer("The server stopped before it answered.")

    monkeypatch.setattr(_Wait, "_slice", slice_of)
    with pytest.raises(NoServer):
        wait_of(1, moved).run()

    assert 1 <= moved.now_s <= 1.1


def test_slices_are_never_longer_than_fifty_seconds_and_end_with_the_time(
    at: Shell, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.set(STORAGE_ROOT=str(server.root))
    moved, asked = Moved(), []

    def slice_of(_: _Wait, __: Any, seconds: int, ___: float) -> Any:
        asked.append(seconds)
        moved.pause(seconds)
        return {"messages": [], "next_cursor": 0, "timed_out": True}

    monkeypatch.setattr(_Wait, "_slice", slice_of)
    wait_of(131, moved).run()

    assert asked == [1, 50, 50, 30]


def test_the_cursor_of_the_text_leads_past_what_json_shows_and_no_further(at: Shell, server: Served) -> None:
    register(server, "BlueLake", "OliveElk")
    with server.connect() as connection:
        sent = [send(connection, "BlueLake", "OliveElk") for _ in range(21)]
        sent.append(send(connection, "BlueLake", "OliveElk", importance="urgent"))

    shown = at.am("wait", "OliveElk")
    as_json = at.am("wait", "OliveElk", "--json").json()
    *_, cursor = shown.out.split()
    then = at.am("wait", "OliveElk", "--after", cursor, "--json").json()

    assert "importance urgent" in shown.out.splitlines()[1]
    assert shown.out.splitlines()[-2].startswith("19 more. ")
    assert int(cursor) == as_json["next_cursor"]
    assert [one["id"] for one in (*as_json["messages"], *then["messages"])] == sent


def test_who_listens_without_a_store_here_and_never_answers_is_waited_for_no_longer_than_asked(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        shell.set(HTTP_PORT=str(silent.getsockname()[1]))
        began_at = time.monotonic()

        ended = shell.am("wait", "RedStone", "--project", PROJECT, "--timeout", "1")

    assert ended.code == 69
    assert time.monotonic() - began_at < 45
