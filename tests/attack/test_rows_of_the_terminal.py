"""A client without a token that hopes for a person at the terminal: text that would fill a row, so that the next begins
with its words.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import unicodedata
from pathlib import Path

from tests.served import Connection
from tests.server.test_serve import ServedOnStandstill

COLUMNS = 80
FORGED = "15:41:00 core Human retired Alice"
WIDE = "\u6f22" * 25 + FORGED


class ServedOnTerminal(ServedOnStandstill):
    """On one of 80 columns, whose rows are read at the end."""

    def spawn(self) -> None:
        self.root.mkdir(parents=True)
        self.reader, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        environment = {**self.environment(), "TERM": "dumb"}
        environment.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            [*self.command(), "--host", "127.0.0.1", "--port", "0"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=self.root.parent,
            env=environment,
        )
        os.close(slave)

    def lines(self) -> list[str]:
        """All that was written; the server has ended."""
        written = b""
        try:
            while more := os.read(self.reader, 65_536):
                written += more
        except OSError:  # No writer is left.
            pass
        os.close(self.reader)
        return written.decode().splitlines()


def _ask(client: Connection) -> None:
    client.rpc("fetch_inbox", {"project_key": "x" * 40, "agent_name": "y" * 30 + FORGED})
    client.rpc("fetch_inbox", {"project_key": f"/{WIDE}", "agent_name": WIDE})
    client.rpc("file_reservation_paths", {"project_key": "/code/app", "agent_name": "BlueLake", "paths": [WIDE]})
    client.open_session()
    client.mcp("tools/call", name="z" * 30 + FORGED, arguments={"project_key": WIDE})


def _cells(line: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in line)


def test_no_row_begins_with_what_a_stranger_wrote(tmp_path: Path) -> None:
    server = ServedOnTerminal(tmp_path / "home", AGENT_AUTH="strict")
    server.log.touch()
    with server, Connection(server.port) as client:
        _ask(client)
        server.stop()

    lines = server.lines()
    told = [line for line in lines if "refused: " in line]
    assert len(told) == 4
    assert all(_cells(line) < COLUMNS for line in lines[lines.index(told[0]) : lines.index(told[-1])])
    assert not any(line.startswith(FORGED[:8]) for line in lines)
