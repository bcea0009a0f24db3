"""Progress bars, on a real terminal beside what is piped."""

from __future__ import annotations

import os
import pty
import re
import sys
import threading
from collections.abc import Callable

import pytest

from mcp_agent_mail.cli.progress import progress_bars

Watched = Callable[[Callable[[], object]], str]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Does something while standard error is a terminal of 80 columns; gives what that was sent."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def watch(act: Callable[[], object]) -> str:
        controller, device = pty.openpty()
        seen: list[bytes] = []

        def read() -> None:
            while not (seen and seen[-1].endswith(b"\0")):
                seen.append(os.read(controller, 65_536))

        reader = threading.Thread(target=read)
        reader.start()
        with os.fdopen(device, "w", encoding="utf-8") as screen:
            with monkeypatch.context() as patch:
                patch.setattr(sys, "stderr", screen)
                act()
            screen.write("\0")
            screen.flush()
            reader.join()
        os.close(controller)
        return b"".join(seen).decode()

    return watch


def work() -> None:
    with progress_bars() as bars:
        told = bars.bar("counting [sheep]")
        told(1, 3)
        told(3, 3)


def test_a_bar_on_a_terminal_says_what_and_how_many(watched: Watched) -> None:
    shown = watched(work)

    assert "counting [sheep]" in shown
    assert "3/3" in shown
    assert "\x1b[38" in shown or "\x1b[1;3" in shown


def test_a_bar_keeps_out_of_standard_output(watched: Watched, capsys: pytest.CaptureFixture[str]) -> None:
    def tell() -> None:
        with progress_bars() as bars:
            bars.bar("counting")(1, 2)
            sys.stdout.write("cell\tcell\n")

    watched(tell)

    assert capsys.readouterr().out == "cell\tcell\n"


def test_a_bar_is_gone_from_the_screen_at_the_end(watched: Watched) -> None:
    shown = watched(work)

    assert shown.rstrip("\0").endswith("\x1b[2K")


def test_what_is_printed_beside_a_bar_stands_on_lines_of_its_own(watched: Watched) -> None:
    def tell() -> None:
        with progress_bars() as bars:
            bars.bar("counting")(1, 2)
            with bars.hidden():
                sys.stderr.write("a line\n")

    shown = watched(tell)

    assert "\x1b[2Ka line\r\n" in shown


def test_no_color_leaves_a_bar_without_colours(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    shown = watched(work)

    assert "3/3" in shown
    assert "m" not in {code[-1] for code in _codes(shown)}


def _codes(shown: str) -> list[str]:
    return re.findall(r"\x1b\[[0-9;?]*[a-zA-Z]", shown)


def test_nothing_is_written_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bars() as bars:
        bars.bar("counting")(1, 2)
        with bars.hidden():
            pass

    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")
