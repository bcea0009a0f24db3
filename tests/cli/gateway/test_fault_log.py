"""What a command that runs the services itself says where its store fails."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_agent_mail.cli.gateway.fault_log import tell_faults_once
from tests.cli.conftest import Post
from tests.facades.importers.small_sources import make_postal

_ROOM = 256 * 1024
_PROGRAM = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv = ["am", *sys.argv[2:]]
runpy.run_module("mcp_agent_mail", run_name="__main__")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX")
def test_an_import_that_the_store_fails_says_so_in_two_lines_and_goes_on_later(
    stopped_post: Post, tmp_path: Path
) -> None:
    source = make_postal(tmp_path / "messages.sqlite", messages=900)
    most = (stopped_post.server.root / "mail.sqlite3").stat().st_size + _ROOM

    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(most), "import", "postal", str(source), "--apply"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
        env=stopped_post.server.environment(),
    )

    later = stopped_post.server.am("import", "postal", str(source), "--apply")

    error, hint = done.stderr.splitlines()
    assert done.returncode == 69
    assert error.startswith("Error (UNAVAILABLE): The store ")
    assert hint.startswith("Hint: ")
    assert later.returncode == 0


def test_other_records_are_written_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    tell_faults_once()
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    log = logging.getLogger("mcp_agent_mail.made_up")
    root = logging.getLogger()
    before, root.handlers = root.handlers, []
    try:
        for error in (full, ValueError("a bug")):
            log.warning("said", exc_info=error)
    finally:
        root.handlers = before

    said = capsys.readouterr().err
    assert ("ValueError: a bug" in said, "disk is full" in said) == (True, False)
