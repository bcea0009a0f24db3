"""On a terminal: tables and words for people, and Ctrl-C."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.cli.command_line import environment
from tests.cli.conftest import Post
from tests.cli.shell import Shell
from tests.served import Connection, Served


def on_a_terminal(*arguments: str, home: Path, **settings: str) -> str:
    """What a person would see who ran `am ARGUMENTS` in a terminal of 120 columns."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mcp_agent_mail", *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=home,
        env=environment(home, **{"COLUMNS": "120", "TERM": "xterm", **settings}),
    )
    os.close(terminal)
    seen = b""
    try:
        while chunk := os.read(controller, 65_536):
            seen += chunk
    except OSError:  # Linux says so when the last holder of the terminal has gone.
        pass
    os.close(controller)
    process.wait()
    return seen.decode().replace("\r\n", "\n")


def test_an_inbox_is_a_table_with_headings(post: Post) -> None:
    shown = on_a_terminal(
        "mail", "inbox", "--project", post.project, home=Path(post.project), STORAGE_ROOT=str(post.server.root)
    )

    heading, *rows = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert heading.split() == ["ID", "RECEIVED", "FROM", "KIND", "FLAGS", "THREAD", "SUBJECT"]
    assert any("BlueLake" in row and "high, ack" in row and "Who takes the parser?" in row for row in rows)


def test_words_of_peers_are_neither_markup_nor_control_in_a_table(post: Post) -> None:
    shown = on_a_terminal(
        "mail", "inbox", "--project", post.project, home=Path(post.project), STORAGE_ROOT=str(post.server.root)
    )

    assert r"[bold]\u202eknil" in shown
    assert "\u202e" not in shown


def test_an_empty_list_says_so_on_a_terminal(tmp_path: Path, stopped_post: Post) -> None:
    stopped_post.server.am("projects", "archive", stopped_post.project)

    shown = on_a_terminal("projects", "list", home=tmp_path, STORAGE_ROOT=str(stopped_post.server.root))

    assert shown == "No projects yet: am projects ensure makes one.\n"


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (("doctor", "verify"), "comparing files"),
        (("doctor", "check"), "checking archives"),
        (("archive", "stats"), "measuring archives"),
        (("archive", "renew", "PROJECT"), "bringing events into Git"),
        (("projects", "adopt", "OTHER", "PROJECT", "--apply"), "bringing events into Git"),
    ],
    ids=lambda given: "-".join(given[:2]) if isinstance(given, tuple) else "",
)
def test_a_command_that_may_take_long_has_a_bar(
    command: tuple[str, ...], what: str, at_stopped: Shell, stopped_post: Post
) -> None:
    words = {"PROJECT": stopped_post.project, "OTHER": "/code/taker"}
    at_stopped.call("ensure_project", human_key="/code/taker")
    if "renew" in command:
        shutil.rmtree(stopped_post.archive())

    shown = on_a_terminal(
        *(words.get(word, word) for word in command),
        home=at_stopped.home,
        STORAGE_ROOT=str(stopped_post.server.root),
        TERM="xterm-256color",
    )

    assert what in shown
    assert "Error" not in shown


def test_a_message_without_text_asks_for_it_instead_of_waiting(tmp_path: Path) -> None:
    shown = on_a_terminal("mail", "send", "--to", "RedStone", home=tmp_path)

    assert "Give the text, or - to read it from standard input." in shown


def test_ctrl_c_ends_a_command_that_waits_for_a_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "mcp_agent_mail", "projects", "list"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=environment(tmp_path, AGENT_MAIL_URL=url),
        )
        with _asked(silent):
            process.send_signal(signal.SIGINT)
            try:
                stdout, stderr = process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGABRT)  # Says where it stands.
                pytest.fail("It goes on waiting:\n" + process.communicate()[1])

    assert (process.returncode, stdout, stderr) == (130, "", "\nInterrupted.\n")


def _asked(silent: socket.socket) -> socket.socket:
    """The connection of the command: others still look for a server of theirs that had this port before."""
    while True:
        connection, _ = silent.accept()
        if connection.recv(10) == b"POST /rpc/":
            return connection
        connection.close()


def test_ctrl_c_stops_the_server_in_order(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mcp_agent_mail", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    assert process.stdout is not None
    announced = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)

    assert announced.startswith("mcp-agent-mail ")
    assert process.returncode == 0, stderr
    assert "Traceback" not in stderr


class ServerOnATerminal:
    """`am serve` as someone watches it; what it shows is read to its end."""

    def __init__(self, home: Path, *options: str, **settings: str) -> None:
        self._controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        home.mkdir(exist_ok=True)
        around = environment(home, **{"TERM": "xterm-256color", **settings})
        around.pop("COLUMNS")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mcp_agent_mail", "serve", "--port", "0", *options],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=home,
            env=around,
        )
        os.close(terminal)
        self.seen = ""
        while (address := re.search(r" serves http://127\.0\.0\.1:(\d+)/\S* from .*\n", self.seen)) is None:
            assert self._read(), self.seen
        self.port = int(address[1])

    def _read(self) -> bool:
        try:
            chunk = os.read(self._controller, 65_536)
        except OSError:  # Linux says so when the last holder of the terminal has gone.
            return False
        self.seen += chunk.decode().replace("\r\n", "\n")
        return bool(chunk)

    def end(self) -> list[str]:
        """The lines that it showed, from its address on."""
        self._process.send_signal(signal.SIGINT)
        while self._read():
            pass
        os.close(self._controller)
        assert self._process.wait() == 0, self.seen
        return self.seen.splitlines()[1:]


def use(port: int) -> None:
    """Three agents, a message with a blind recipient and one whose copy is held, a look, and a mistake."""
    with Connection(port) as connection:
        connection.call("ensure_project", human_key="/code/shop")
        for name in ("BlueLake", "RedStone", "QuietFox", "GreenField"):
            connection.call("register_agent", project_key="/code/shop", name=name, program="tester", model="m1")
        connection.call("set_contact_policy", project_key="/code/shop", agent_name="GreenField", policy="contacts_only")
        connection.call(
            "send_message",
            project_key="/code/shop",
            sender_name="BlueLake",
            to=["RedStone", "GreenField"],
            bcc=["QuietFox"],
            subject="[bold]Plan",
            body_md="the body",
        )
        connection.call("fetch_inbox", project_key="/code/shop", agent_name="RedStone")
        assert connection.rpc("whois", {"project_key": "/code/shop", "agent_name": "RedSton"}).error_type == "NOT_FOUND"


def test_whoever_watches_a_server_sees_who_did_what_to_whom(tmp_path: Path) -> None:
    server = ServerOnATerminal(tmp_path)
    use(server.port)

    lines = [re.sub(r"^\d\d:\d\d:\d\d | {2}\d+ ms$", "", line) for line in server.end()]

    assert lines[:7] == [
        "shop someone opened /code/shop",
        "shop BlueLake is here (tester, m1)",
        "shop RedStone is here (tester, m1)",
        "shop QuietFox is here (tester, m1)",
        "shop GreenField is here (tester, m1)",
        "shop GreenField takes mail by the policy contacts_only",
        'shop BlueLake wrote to RedStone: "[bold]Plan" (#1)',
    ]
    assert lines[7].startswith("shop RedSton whois refused: NOT_FOUND ")
    assert lines[8].startswith("         hint: ")
    assert "RedStone" in lines[8]
    assert [line for line in lines[9:] if "INFO" not in line] == []


def test_a_connection_that_says_who_and_where_it_is_need_not_say_it_in_its_calls(tmp_path: Path) -> None:
    server = ServerOnATerminal(tmp_path)
    use(server.port)
    headers = {"X-Agent-Project": "/code/shop", "X-Agent-Name": "RedStone"}
    with Connection(server.port, headers) as connection:
        connection.call("set_status", status="busy")

    assert any(" shop RedStone is busy " in re.sub(r"\x1b\[\d*m", "", line) for line in server.end())


def test_colours_of_the_lines_of_a_server_are_left_out_with_no_color(tmp_path: Path) -> None:
    coloured, plain = ServerOnATerminal(tmp_path / "a", NO_COLOR=""), ServerOnATerminal(tmp_path / "b")
    for server in (coloured, plain):
        use(server.port)

    assert "\x1b[1mBlueLake\x1b[0m" in "\n".join(coloured.end())
    assert "\x1b" not in "\n".join(plain.end())


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--quiet"], {}),
        ([], {"TOOLS_LOG_ENABLED": "true"}),
        ([], {"LOG_JSON_ENABLED": "true"}),
        ([], {"LOG_LEVEL": "WARNING"}),
    ],
    ids=["--quiet", "TOOLS_LOG_ENABLED", "LOG_JSON_ENABLED", "LOG_LEVEL"],
)
def test_a_server_that_is_to_be_quiet_or_logs_otherwise_shows_no_lines(
    options: list[str], settings: dict[str, str], tmp_path: Path
) -> None:
    server = ServerOnATerminal(tmp_path, *options, **settings)
    use(server.port)

    assert not [line for line in server.end() if "BlueLake" in line]


def test_a_server_whose_output_is_no_terminal_writes_its_address_alone(tmp_path: Path) -> None:
    with Served(tmp_path / "store") as server:
        use(server.port)

    assert [line for line in server.log.read_text().splitlines() if "BlueLake" in line] == []
