"""What the product has written is not lent wherever it lies, and what only resembles it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.domain.own_files import BACKUP_KIND
from mcp_agent_mail.store.engine.sqlite.migrate import migrate
from tests.workspace.lending import lent_below, open_descriptors


def test_below_a_backup_nothing_is_lent_and_below_what_resembles_one_all_is(tmp_path: Path) -> None:
    for name, kind in (("ours", BACKUP_KIND), ("theirs", "another")):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "manifest.json").write_text(f'{{\n "kind": "{kind}",\n "version": 1}}')
        (tmp_path / name / "deep" / "file").touch()
    os.mkfifo(tmp_path / "theirs" / "deep" / "manifest.json")

    before = open_descriptors()
    assert lent_below(tmp_path) == {"theirs/manifest.json", "theirs/deep/file"}
    assert lent_below(tmp_path / "ours" / "deep") == set()
    assert open_descriptors() == before


@pytest.mark.parametrize("name", ["projects", "undo", "kept", "docs"])
def test_beside_a_stores_database_its_own_folders_are_not_lent(tmp_path: Path, name: str) -> None:
    migrate(tmp_path / "ours" / "mail.sqlite3", fault_hook=no_fault)
    for folder in ("ours", "theirs"):
        (tmp_path / folder / name).mkdir(parents=True)
        (tmp_path / folder / name / "file").touch()

    lent = {"theirs/docs/file", "ours/docs/file"} if name == "docs" else {f"theirs/{name}/file"}
    assert lent_below(tmp_path) == lent
