"""Copies of others' mail do not stay in the folder of temporary files, whatever ends the process that made them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_agent_mail.store.foreign.private_folder import private_folder

_HOLDS = """
import sys
from mcp_agent_mail.store.foreign.private_folder import private_folder
with private_folder() as folder:
    (folder / "mail").write_text("private")
    print(folder, flush=True)
    sys.stdin.read()
"""


def _held(temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def _aged(folder: Path) -> None:
    then = time.time() - 3_600
    os.utime(folder, (then, then))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_left_goes_when_the_next_one_begins(temporary: Path) -> None:
    process, left = _held(temporary)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    _aged(left)

    with private_folder() as folder:
        found = sorted(temporary.iterdir())

    assert found == [folder]
    assert list(temporary.iterdir()) == []


def test_what_somebody_still_uses_stays(temporary: Path) -> None:
    process, used = _held(temporary)
    _aged(used)

    with private_folder():
        is_there = (used / "mail").exists()
    process.communicate()

    assert is_there
    assert not used.exists()


def test_links_files_and_what_is_open_to_others_are_left_alone(temporary: Path) -> None:
    (temporary / "mine").mkdir(mode=0o700)
    (temporary / "am-import-link").symlink_to(temporary / "mine")
    (temporary / "am-import-file").touch()
    (temporary / "am-import-open").mkdir()
    (temporary / "am-import-open").chmod(0o755)
    for one in temporary.iterdir():
        _aged(one)
    before = sorted(temporary.iterdir())

    with private_folder():
        pass

    assert sorted(temporary.iterdir()) == before
