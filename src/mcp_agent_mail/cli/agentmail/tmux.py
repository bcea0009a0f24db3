"""What tmux says of this pane and its session: one run of `tmux` for a command, without a shell.

A window's name is what others write to. A pane remembers the name under which its mail goes, for each project, as an
option of its own: so a renamed window is known again, and nothing of a pane outlives it.
"""

from __future__ import annotations

import os
import re
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROGRAM = "tmux"
ANSWER_WITHIN_S = 2.0

_PANE = re.compile(r"%[0-9]{1,9}")
_MAX_OUTPUT = 1 << 20
_OPTION = "@agentmail-"


class NoTmux(Exception):
    """No pane of a tmux that answers: whoever runs here is outside."""


class PaneGone(Exception):
    """The tmux is there, and this pane is not any more. Its text is the pane."""


class Windows:
    """`mine` is the name of the window that the pane is in, `names` are those of all of its session, in tmux's order,
    each once; `had` is the name that the pane has gone by in the project, if any. `counts` says how many windows have
    a name.
    """

    __slots__ = ("counts", "had", "mine", "names")

    def __init__(self, mine: str, names: Sequence[str], had: str) -> None:
        self.mine = mine
        self.had = had
        self.counts: dict[str, int] = {}
        for name in names:
            self.counts[name] = self.counts.get(name, 0) + 1
        self.names = list(self.counts)


class Pane:
    """The pane that the surroundings name. Raises NoTmux where they name none."""

    __slots__ = ("environ", "pane")

    def __init__(self, environ: Mapping[str, str]) -> None:
        pane = environ.get("TMUX_PANE", "")
        if not environ.get("TMUX") or not _PANE.fullmatch(pane):
            raise NoTmux
        self.pane = pane
        self.environ = environ

    def windows(self, project: str) -> Windows:
        """Raises NoTmux where nobody answers, PaneGone."""
        option = _option(project)
        lines = self._ask(
            *("display-message", "-p", "-t", self.pane, "#{window_name}", ";"),
            *("display-message", "-p", "-t", self.pane, f"#{{{option}}}", ";"),
            *("list-windows", "-t", self.pane, "-F", "#{window_name}"),
        )
        return Windows(lines[0], lines[2:], lines[1])

    def remember(self, project: str, name: str) -> None:
        """Note under which name the pane's mail goes. Where tmux is too old for it, nothing is noted."""
        kept = f"{name[:-1]}\\;" if name.endswith(";") else name  # At its end it would begin another command.
        self._run(["set-option", "-p", "-t", self.pane, _option(project), kept])

    def is_there(self) -> bool:
        """Whether the pane stands. Where tmux does not answer in time nothing is known, and it counts as there."""
        try:
            self._ask("display-message", "-p", "-t", self.pane, "#{window_name}")
        except (NoTmux, PaneGone):
            return False
        except TimeoutError:
            return True
        return True

    def _ask(self, *arguments: str) -> list[str]:
        _, said = self._run(arguments)
        lines = said.split("\n")
        if len(lines) < 2:
            raise NoTmux
        if not lines[0]:  # tmux answers of a pane that is not there with nothing.
            raise PaneGone(self.pane)
        return lines[:-1]

    def _run(self, arguments: Sequence[str]) -> tuple[int, str]:
        return run(arguments, self.environ)


def run(
    arguments: Sequence[str], environ: Mapping[str, str], *, within_s: float = ANSWER_WITHIN_S
) -> tuple[int, str]:
    """Exit code and output of one run of tmux; -1 and nothing where there is none. Raises TimeoutError.

    `-u`: names come as UTF-8 whatever the locale. Started by hand, since `subprocess` takes longer to import than tmux
    to answer.
    """
    read, write = os.pipe()
    try:
        pid = _spawn([PROGRAM, "-u", *arguments], environ, write)
    except OSError:
        os.close(read)
        return -1, ""
    finally:
        os.close(write)
    try:
        said = _read(read, time.monotonic() + within_s)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(read)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), said.decode("utf-8", "replace")


def _spawn(arguments: list[str], environ: Mapping[str, str], output: int) -> int:
    null = os.devnull
    return os.posix_spawnp(
        PROGRAM,
        arguments,
        environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_OPEN, 2, null, os.O_WRONLY, 0),
        ],
    )


def _read(descriptor: int, until: float) -> bytes:
    content = bytearray()
    while len(content) < _MAX_OUTPUT:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise TimeoutError
        piece = os.read(descriptor, 65_536)
        if not piece:
            break
        content += piece
    return bytes(content)


def _option(project: str) -> str:
    """One for each project, as short as a hash: a path is no part of an option's name."""
    import zlib

    return f"{_OPTION}{zlib.crc32(os.fsencode(project)):08x}"
