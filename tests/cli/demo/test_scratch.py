from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from mcp_agent_mail.cli.demo import scratch
from mcp_agent_mail.cli.demo.scratch import scratch_server
from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.core.store_owner import read_owner

SERVES = """
import json, os, pathlib, signal, sys
from mcp_agent_mail.store.engine.lock import StoreLock
root = pathlib.Path(os.environ["STORAGE_ROOT"])
def stop(*_):
    (root / "stopped").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN if "deaf" in sys.argv else stop)
with StoreLock(root, root / "mail.sqlite3"):
    told = json.dumps(dict(os.environ))
    (root / "told.json").write_text(told)
    (root / "server.json").write_text(json.dumps({"pid": os.getpid(), "url": "http://here", "started": "now"}))
    while True:
        signal.pause()
"""


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """In place of the server."""
    file = folder / "python"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(file))


def serving(folder: Path, *words: str) -> str:
    (folder / "serves.py").write_text(SERVES)
    return f"exec {shlex.quote(sys.executable)} {folder}/serves.py {' '.join(words)}"


def test_it_serves_a_store_in_its_folder_and_has_stopped_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, monkeypatch, serving(tmp_path))

    with scratch_server(tmp_path) as url:
        owner = read_owner(tmp_path / "store")

    assert owner is not None
    assert url == owner.url == "http://here"
    assert read_owner(tmp_path / "store") is None
    assert (tmp_path / "store" / "stopped").exists(), "in order"


def test_no_setting_of_the_person_reaches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, serving(tmp_path))
    for name in ("HTTP_BEARER_TOKEN", "STORAGE_ROOT", "AGENT_MAIL_ENV_FILE"):
        monkeypatch.setenv(name, "the person's")

    with scratch_server(tmp_path):
        told = json.loads((tmp_path / "store" / "told.json").read_text())

    assert "the person's" not in told.values()
    assert (told["STORAGE_ROOT"], told["PATH"]) == (f"{tmp_path}/store", os.environ["PATH"])
    assert Path(told["AGENT_MAIL_ENV_FILE"]).read_text() == ""


def test_it_is_stopped_when_what_went_on_beside_it_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, serving(tmp_path))

    with pytest.raises(ZeroDivisionError), scratch_server(tmp_path):
        raise ZeroDivisionError

    assert read_owner(tmp_path / "store") is None


def test_one_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_STOP_TIMEOUT_S", 0.05)
    program(tmp_path, monkeypatch, serving(tmp_path, "deaf"))

    with scratch_server(tmp_path):
        is_owned = read_owner(tmp_path / "store") is not None

    assert is_owned
    assert read_owner(tmp_path / "store") is None


def test_one_that_cannot_start_is_told_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_START_TIMEOUT_S", 3_600.0)
    program(tmp_path, monkeypatch, "echo no luck; exit 71")

    with pytest.raises(NoServer, match=r"The scratch server did not start\. Its log ends:\nno luck"):
        scratch_server(tmp_path).__enter__()


def test_one_that_is_never_ready_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_START_TIMEOUT_S", 0.0)
    program(tmp_path, monkeypatch, "exec sleep 600")

    with pytest.raises(NoServer, match="did not start"):
        scratch_server(tmp_path).__enter__()
