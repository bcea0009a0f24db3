from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.cli.agentmail.environment import DoorSettings
from mcp_agent_mail.cli.agentmail.place import WindowPlace, find_place, read_ignored
from mcp_agent_mail.cli.agentmail.refusals import Failure
from mcp_agent_mail.cli.agentmail.tmux_windows import SessionWindows


def _place(tmp_path: Path, *names: str) -> WindowPlace:
    rows = [(f"%{number}", "", name) for number, name in enumerate(names)]
    return WindowPlace(str(tmp_path), names[0], windows=SessionWindows("%0", rows))


def test_ignored_windows_stand_one_a_line(tmp_path: Path) -> None:
    assert read_ignored(str(tmp_path)) == frozenset()
    (tmp_path / ".agentmailignore").write_bytes(b" one \r\n\n\ttwo words\n\xff\n")

    assert read_ignored(str(tmp_path)) == {"one", "two words", "\ufffd"}


def test_an_ignore_file_that_is_no_file_ignores_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".agentmailignore")

    assert read_ignored(str(tmp_path)) == frozenset()


def test_the_own_window_is_listed_though_it_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".agentmailignore").write_text("me\nThird\n")

    place = _place(tmp_path, "me", "second", "third")

    assert place.recipients() == ["me", "second"]
    assert place.is_ignored("THIRD")


def test_a_window_is_meant_by_its_very_name_before_one_in_other_letters(tmp_path: Path) -> None:
    place = _place(tmp_path, "me", "Bob", "bob")

    assert (place.window("bob"), place.window("BOB"), place.window("x")) == ("bob", "Bob", None)


def test_a_name_of_the_settings_does_outside_tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    home = {"HOME": str(tmp_path)}
    named = {**home, "AGENTMAIL_NAME": " out "}

    place = find_place(DoorSettings(named), named)

    assert (place.name, place.windows, place.recipients()) == ("out", None, [])
    with pytest.raises(Failure) as outside:
        find_place(DoorSettings(home), home)
    assert outside.value.code == 2
    with pytest.raises(Failure, match="not in a git repository"):
        _ = place.project
