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
    from collections.abc import Callable, Mapping, Sequence

PROGRAM = "tmux"
ANSWER_WITHIN_S = 2.0

_PANE = re.compile(r"%[0-9]{1,9}")
_MAX_OUTPUT = 1 << 20
_OPTION = "@agentmail-"
_ABSENT = (FileNotFoundError, NotADirectoryError, PermissionError)


class NoTmux(Exception):
    """No pane of a tmux that answers: whoever runs here is outside."""


class TmuxSilent(Exception):
    """A tmux that did not answer in time, or that could not be asked just now: what stands in it is not known."""


class PaneGone(Exception):
    """The tmux is there, and this pane is not any more. Its text is the pane."""


class SessionWindows:
    """The panes of a session, in tmux's order: `rows` are a pane, the name that it has gone by in the project so far,
    and the name of its window. `mine` is the name of the window that our pane is in.
    """

    __slots__ = ("mine", "names", "rows")

    def __init__(self, pane: str, rows: Sequence[tuple[str, str, str]]) -> None:
        self.rows = list(rows)
        self.names = list(dict.fromkeys(name for _, _, name in rows))
        found = [name for one, _, name in rows if one == pane]
        if not found:
            raise PaneGone(pane)
        self.mine = found[0]

    def was_called(self, name: str) -> str | None:
        """What the window of this name was called when its mailbox was used last, if no window is called so now."""
        had = [had for _, had, window in self.rows if window == name and had]
        return next((one for one in had if one not in self.names), None)

    def unnoted(self, name: str) -> list[str]:
        """The panes of the window of this name that go by another one, or by none, so far."""
        return [pane for pane, had, window in self.rows if window == name and had != name]

    def pane_of(self, name: str) -> str:
        """The first pane of the window of this name: of the first one, where there are several."""
        return next(pane for pane, _, window in self.rows if window == name)


class TmuxSession:
    """The session that the surroundings name, whatever becomes of the pane that it was named in."""

    __slots__ = ("environ", "session")

    def __init__(self, environ: Mapping[str, str]) -> None:
        number = environ.get("TMUX", "").rpartition(",")[2]
        self.session = f"${number}" if number.isascii() and number.isdigit() else "$0"
        self.environ = environ

    def find_windows(self, project: str) -> SessionWindows | None:
        """None once there is no such session. Raises TmuxSilent."""
        shown = f"#{{pane_id}}\t#{{{_option(project)}}}\t#{{window_name}}"
        code, said = run(["list-panes", "-s", "-t", self.session, "-F", shown], self.environ)
        cells = [line.split("\t", 2) for line in said.split("\n")[:-1]]
        rows = [(one[0], one[1], one[2]) for one in cells if len(one) == 3]
        return None if code or not rows else SessionWindows(rows[0][0], rows)

    def is_free(self, pane: str) -> bool:
        """Is nothing being typed in the pane, and nothing being looked up? Raises TmuxSilent."""
        shown = "#{pane_in_mode} #{cursor_x} #{cursor_y}"
        code, said = run(
            ["display-message", "-p", "-t", pane, shown, ";", "capture-pane", "-e", "-p", "-t", pane], self.environ
        )
        first, *lines = said.split("\n")
        words = first.split()
        if code or len(words) != 3 or words[0] != "0":
            return False
        from mcp_agent_mail.cli.agentmail.prompt import is_free

        return is_free(lines, int(words[1]), int(words[2]))

    def type(self, pane: str, text: str, *, enter_after_s: float, sleep: Callable[[float], None]) -> None:
        """As somebody at the keyboard: the text, and the Enter key a while after it. Raises TmuxSilent: how much of it
        tmux has typed is not known then.
        """
        run(["send-keys", "-t", pane, "-l", text], self.environ)
        sleep(enter_after_s)
        run(["send-keys", "-t", pane, "Enter"], self.environ)


class TmuxPane:
    """The pane that the surroundings name. Raises NoTmux where they name none."""

    __slots__ = ("environ", "pane")

    def __init__(self, environ: Mapping[str, str]) -> None:
        pane = environ.get("TMUX_PANE", "")
        if not environ.get("TMUX") or not _PANE.fullmatch(pane):
            raise NoTmux
        self.pane = pane
        self.environ = environ

    def windows(self, project: str) -> SessionWindows:
        """Raises NoTmux where there is nobody, TmuxSilent, PaneGone."""
        lines = self._ask(f"#{{pane_id}}\t#{{{_option(project)}}}\t#{{window_name}}")
        cells = [line.split("\t", 2) for line in lines]
        return SessionWindows(self.pane, [(one[0], one[1], one[2]) for one in cells if len(one) == 3])

    def remember(self, project: str, panes: Sequence[str], name: str) -> None:
        """As `remember`."""
        remember(self.environ, project, panes, name)

    def is_there(self) -> bool:
        """Whether the pane stands. Where tmux does not answer in time nothing is known, and it counts as there."""
        try:
            self._ask("#{pane_id}")
        except (NoTmux, PaneGone):
            return False
        except TmuxSilent:
            return True
        return True

    def _ask(self, shown: str) -> list[str]:
        """A line for each pane of the session. What tmux says first tells a pane that is gone, of which it says
        nothing, from a tmux that is.
        """
        _, said = self._run(
            [
                "display-message",
                "-p",
                "-t",
                self.pane,
                "#{pane_id}",
                ";",
                "list-panes",
                "-s",
                "-t",
                self.pane,
                "-F",
                shown,
            ]
        )
        first, *lines = said.split("\n")
        if not said:
            raise NoTmux
        if first != self.pane:
            raise PaneGone(self.pane)
        return lines[:-1]

    def _run(self, arguments: Sequence[str]) -> tuple[int, str]:
        return run(arguments, self.environ)


def remember(environ: Mapping[str, str], project: str, panes: Sequence[str], name: str) -> None:
    """Note under which name the mail of these panes goes. Where tmux is too old for it, or silent, nothing is noted."""
    kept = f"{name[:-1]}\\;" if name.endswith(";") else name  # At its end it would begin another command.
    words: list[str] = []
    for pane in panes:
        words += [*([";"] if words else []), "set-option", "-p", "-t", pane, _option(project), kept]
    if words:
        try:
            run(words, environ)
        except TmuxSilent:
            return


def run(arguments: Sequence[str], environ: Mapping[str, str], *, within_s: float = ANSWER_WITHIN_S) -> tuple[int, str]:
    """Exit code and output of one run of tmux; -1 and nothing where there is none. Raises TmuxSilent.

    `-u`: names come as UTF-8 whatever the locale. Started by hand, since `subprocess` takes longer to import than tmux
    to answer.
    """
    try:
        read, write = os.pipe()
    except OSError as failed:
        raise TmuxSilent(failed.strerror) from None
    try:
        pid = _spawn([PROGRAM, "-u", *arguments], environ, write)
    except _ABSENT:
        os.close(read)
        return -1, ""
    except OSError as failed:
        os.close(read)
        raise TmuxSilent(failed.strerror) from None
    finally:
        os.close(write)
    try:
        said = _read(read, time.monotonic() + within_s)
    except TmuxSilent:
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
            raise TmuxSilent("it did not answer in time")
        piece = os.read(descriptor, 65_536)
        if not piece:
            break
        content += piece
    return bytes(content)


def _option(project: str) -> str:
    """One for each project, as short as a hash: a path is no part of an option's name."""
    import zlib

    return f"{_OPTION}{zlib.crc32(os.fsencode(project)):08x}"
