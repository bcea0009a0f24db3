"""What tmux says, from its answers alone; the real one is asked in `test_windows.py`."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest

from mcp_agent_mail.cli.agentmail.tmux_windows import (
    NoTmux,
    PaneGone,
    SessionWindows,
    TmuxPane,
    TmuxSession,
    TmuxSilent,
    run,
)

ROWS = [("%0", "", "a1"), ("%1", "old", "a2"), ("%2", "a2", "a2"), ("%3", "a1", "b3")]


def _program(folder: Path, script: str) -> dict[str, str]:
    program = folder / "tmux"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "TMUX": "/s,1,0", "TMUX_PANE": "%1"}


def test_windows_are_listed_once_in_tmuxs_order() -> None:
    windows = SessionWindows("%2", ROWS)

    assert (windows.mine, windows.names) == ("a2", ["a1", "a2", "b3"])


def test_a_window_was_called_what_its_pane_went_by_unless_that_is_a_window() -> None:
    windows = SessionWindows("%1", ROWS)

    assert windows.was_called("a2") == "old"
    assert windows.was_called("b3") is None
    assert windows.was_called("a1") is None
    assert windows.unnoted("a2") == ["%1"]


def test_a_pane_that_no_window_has_is_gone() -> None:
    with pytest.raises(PaneGone, match="%9"):
        SessionWindows("%9", ROWS)


@pytest.mark.parametrize("environ", [{}, {"TMUX": "/s,1,0"}, {"TMUX_PANE": "%1"}, {"TMUX": "/s", "TMUX_PANE": "1"}])
def test_without_both_variables_of_tmux_one_is_outside(environ: dict[str, str]) -> None:
    with pytest.raises(NoTmux):
        TmuxPane(environ)


def test_a_tmux_that_is_not_there_and_one_that_says_nothing_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = _program(tmp_path, "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoTmux):
        TmuxPane(silent).windows("/code")
    (tmp_path / "tmux").unlink()

    with pytest.raises(NoTmux):
        TmuxPane(silent).windows("/code")


def test_an_answer_of_another_pane_says_that_this_one_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = _program(tmp_path, "echo; echo 'no such pane' >&2; exit 1")
    monkeypatch.setenv("PATH", environ["PATH"])

    with pytest.raises(PaneGone):
        TmuxPane(environ).windows("/code")
    assert not TmuxPane(environ).is_there()


def test_a_tmux_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = _program(tmp_path, "exec sleep 60")
    monkeypatch.setenv("PATH", environ["PATH"])
    began = time.monotonic()

    with pytest.raises(TmuxSilent):
        run(["list-panes"], environ, within_s=0.2)

    assert time.monotonic() - began < 30


def test_a_tmux_that_cannot_be_asked_just_now_is_not_one_that_is_gone(tmp_path: Path) -> None:
    environ = _program(tmp_path, "echo")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with pytest.raises(TmuxSilent, match="open files"):
            TmuxSession(environ).find_windows("/code")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_names_that_tmux_would_take_for_a_command_are_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tmp_path / "said"
    environ = _program(tmp_path, f'for one in "$@"; do echo "$one" >> {said}; done')
    monkeypatch.setenv("PATH", environ["PATH"])

    TmuxPane(environ).remember("/code", ["%1", "%2"], "a;")

    words = said.read_text().split("\n")
    assert words.count("a\\;") == 2
    assert words.count(";") == 1
    assert words.count("set-option") == 2
