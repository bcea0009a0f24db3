"""A saved file made a store again by another user, at another path."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.save import save
from mcp_agent_mail.store.rebuild.dump import dump
from tests.archive_harness import open_archive_harness
from tests.features.recovery.backups.harness import fill

NOBODY = 65_534
_AS_NOBODY = f"""
import contextlib, encodings, importlib, importlib.readers, os, pkgutil, sys
import mcp_agent_mail
for module in pkgutil.walk_packages(mcp_agent_mail.__path__, "mcp_agent_mail."):
    if not module.name.endswith("__main__"):
        with contextlib.suppress(ImportError):  # Of an extra that is not installed.
            importlib.import_module(module.name)
for name in ("ascii", "idna", "latin_1", "utf_8"):
    importlib.import_module("encodings." + name)
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
from mcp_agent_mail.cli.app import run
sys.exit(run(sys.argv[1:]))
"""
"""Whatever is to be imported is before: where the interpreter is root's, nobody else may read it."""


@pytest.fixture
def others_folder() -> Iterator[Path]:
    """Of a user who may do nothing but there."""
    folder = Path(tempfile.mkdtemp(prefix="am-nobody-"))
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def _am_as_nobody(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "STORAGE_ROOT": str(folder / "store")}
    return subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment,
    )


@pytest.mark.restore
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act for another user")
def test_another_user_makes_the_same_store_of_it_at_another_path(tmp_path: Path, others_folder: Path) -> None:
    with open_archive_harness(tmp_path / "store") as harness:
        fill(harness)
    save(tmp_path / "store", others_folder / "saved.tar", known=None, progress=lambda _done, _total: None)
    os.chown(others_folder / "saved.tar", NOBODY, NOBODY)

    restored = _am_as_nobody(others_folder, "archive", "restore", "saved.tar", "--json")
    verified = _am_as_nobody(others_folder, "doctor", "verify", "--json")

    assert restored.returncode == 0, restored.stderr
    assert (verified.returncode, json.loads(verified.stdout)["findings"]) == (0, [])
    made = others_folder / "store" / "mail.sqlite3"
    assert made.stat().st_uid == NOBODY
    assert [line for line in dump(made) if "acted" not in line] == [
        line for line in dump(tmp_path / "store" / "mail.sqlite3") if "acted" not in line
    ]
