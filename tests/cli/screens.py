"""Writes what people see of some commands into `tests/golden/screens/`: `python -m tests.cli.screens`.

Each on a real terminal of 80 and of 160 columns, and piped. Colours are left out, and what differs from one run to the
next is replaced by a mask of the same width.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from tests.cli.command_line import environment
from tests.cli.screen_store import PROJECT, make_screen_store
from tests.served import Served

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "screens"
WIDTHS = (80, 160)
PIPE = "pipe"
VIEWS: tuple[int | str, ...] = (*WIDTHS, PIPE)

SCREENS: dict[str, tuple[str, ...]] = {
    "mail-inbox": ("mail", "inbox"),
    "mail-inbox-exact": ("mail", "inbox", "--exact"),
    "mail-read": ("mail", "read", "1"),
    "mail-thread": ("mail", "thread", "parser-split"),
    "mail-search": ("mail", "search", "lexer OR quantity"),
    "mail-held": ("mail", "held"),
    "agents-list": ("agents", "list"),
    "agents-show": ("agents", "show", "RedStone", "--exact"),
    "projects-list": ("projects", "list"),
    "reservations-list": ("reservations", "list"),
    "contacts-list": ("contacts", "list"),
    "archive-log": ("archive", "log", "--exact"),
    "history-message": ("history", "message", "1"),
    "status": ("status",),
    "doctor-verify": ("doctor", "verify"),
}

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00"), "YYYY-MM-DDThh:mm:ss.ffffff+00:00"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"), "YYYY-MM-DD hh:mm:ssZ"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "c0ffee" * 6 + "c0ff"),
    (re.compile(r"\b[0-9a-f]{12}\b(?!-)"), "c0ffee" * 2),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:8765"),
    (re.compile(r"process \d+"), "process 4711"),
    (re.compile(r"(?m)^(version|schema)([ \t]+)\S+"), r"\1\2N"),
    (re.compile(r"index of \d+ KiB|\d+ packs"), "..."),
    (re.compile(r"\(\d+ (?:s|min) ago\)|\(now\)"), "(just now)"),
)
NOT_SHOWN = ("COLUMNS", "NO_COLOR", "TERM")


class ScreenStore:
    """The store of the screens behind a server, and what a terminal in front of it shows."""

    def __init__(self, home: Path) -> None:
        self._home = home
        # What is idle or overdue is to stay as it is.
        self.server = Served(
            make_screen_store(home),
            HOME=str(home),
            FILE_RESERVATIONS_CLEANUP_ENABLED="false",
            ACK_TTL_ENABLED="false",
        )

    def see(self, command: tuple[str, ...], *, width: int, is_piped: bool, **settings: str) -> str:
        """What `am COMMAND` shows on a terminal of so many columns, or writes into a pipe there; as it came."""
        controller, device = pty.openpty()
        fcntl.ioctl(device, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        around = environment(self._home, STORAGE_ROOT=str(self.server.root), AGENT_MAIL_PROJECT=PROJECT)
        for name in NOT_SHOWN:
            around.pop(name)
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "mcp_agent_mail", *command],
                stdin=device,
                stdout=subprocess.PIPE if is_piped else device,
                stderr=errors,
                cwd=self._home,
                env={**around, "TERM": "xterm-256color", **settings},
            )
            os.close(device)
            seen = process.stdout.read() if process.stdout else _read_all(controller)
            if process.stdout:
                process.stdout.close()
            os.close(controller)
            process.wait()
            errors.seek(0)
            assert not (told := errors.read()), told.decode()
        return seen.decode().replace("\r\n", "\n")

    def screen(self, name: str, view: int | str) -> str:
        """The golden text of one screen."""
        if view != PIPE:
            return self.masked(self.see(SCREENS[name], width=int(view), is_piped=False))
        narrow, wide = (self.masked(self.see(SCREENS[name], width=width, is_piped=True)) for width in WIDTHS)
        assert narrow == wide, "a pipe does not know the width of a terminal"
        return narrow

    def masked(self, shown: str) -> str:
        """Without colours and without what differs from one run to the next."""
        text = _COLOURS.sub("", shown).replace(str(self._home), "/home/ada")
        for pattern, mask in _MASKS:
            text = pattern.sub(mask, text)
        return text


def _read_all(controller: int) -> bytes:
    seen = b""
    try:
        while chunk := os.read(controller, 65_536):
            seen += chunk
    except OSError:  # Linux says so when the last holder of the terminal has gone.
        pass
    return seen


def golden_of(name: str, view: int | str) -> Path:
    return GOLDEN / f"{name}.{view}.txt"


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        store = ScreenStore(Path(home))
        with store.server:
            for name in SCREENS:
                for view in VIEWS:
                    golden_of(name, view).write_text(store.screen(name, view))
    for file in GOLDEN.glob("*.txt"):
        if file.name.partition(".")[0] not in SCREENS:
            file.unlink()


if __name__ == "__main__":
    main()
