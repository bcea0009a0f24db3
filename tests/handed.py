"""Starting a server as systemd does with a socket unit: who starts it keeps the listening socket open over restarts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from tests.served import Served

HANDING_OVER = """\
import os, sys

descriptor = int(sys.argv[1])
if descriptor == 3:
    os.set_inheritable(3, True)
else:
    os.dup2(descriptor, 3)
variables = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
os.execve(sys.argv[2], sys.argv[2:], {**variables, **os.environ})
"""
"""Run with the number of a descriptor and a command: it becomes the command, which has that descriptor as its third.
Variables that are set already count.
"""


class HandedServed(Served):
    """A server on a socket that the test holds, which is closed by whoever opened it."""

    def __init__(self, root: Path, listener: socket.socket, *options: str, **env: str) -> None:
        super().__init__(root, port=None, **env)
        self._listener = listener
        self._options = options

    def spawn(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self._printed_before = self.log.stat().st_size if self.log.exists() else 0
        descriptor = self._listener.fileno()
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", HANDING_OVER, str(descriptor), *self.command(), *self._options],
                pass_fds=(descriptor,),
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                cwd=self.root.parent,
                env=self.environment(),
            )

    def environment(self) -> dict[str, str]:
        """The port that settings name is not the socket's."""
        return {**super().environment(), "HTTP_PORT": "1"}


def inherited_by(pid: int) -> set[str]:
    """The names of the variables that a process was started with (Linux)."""
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return {os.fsdecode(variable.partition(b"=")[0]) for variable in variables if variable}
