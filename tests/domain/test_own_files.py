"""What the product writes is known again by its first bytes; what others write is not taken for it."""

from __future__ import annotations

import io
import sqlite3
import tarfile
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.domain.own_files import is_backup_manifest, is_database, is_saved_file, is_scratch, is_sqlite
from mcp_agent_mail.features.recovery.backups.manifest import Manifest
from mcp_agent_mail.features.recovery.saved_file import SavedFileWriter, SavedManifest, SavedProject
from mcp_agent_mail.store.engine.sqlite.migrate import migrate


def test_a_database_of_ours_is_told_from_other_databases(tmp_path: Path) -> None:
    migrate(tmp_path / "ours", fault_hook=no_fault)
    with sqlite3.connect(tmp_path / "theirs") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    ours, theirs = (tmp_path / "ours").read_bytes(), (tmp_path / "theirs").read_bytes()

    assert (is_sqlite(ours), is_database(ours)) == (True, True)
    assert (is_sqlite(theirs), is_database(theirs)) == (True, False)
    assert not is_database(ours[:60])


@pytest.mark.parametrize("is_partial", [False, True])
@pytest.mark.parametrize("count", [0, 1])
def test_a_saved_file_is_told_from_other_tars(is_partial: bool, count: int) -> None:
    project = SavedProject(slug="app", human_key="/code/app", commit="a" * 40, messages=1)
    ours = io.BytesIO()
    SavedFileWriter(ours, SavedManifest(store_id="s", is_partial=is_partial, projects=(project,) * count))
    theirs = io.BytesIO()
    with tarfile.open(fileobj=theirs, mode="w") as tar:
        entry = tarfile.TarInfo("manifest.json")
        entry.size = 11
        tar.addfile(entry, io.BytesIO(b'{"name": 1}'))

    assert is_saved_file(ours.getvalue()[:1_024])
    assert not is_saved_file(theirs.getvalue())
    assert not is_saved_file(b"")


def test_a_backups_manifest_is_told_from_other_manifests() -> None:
    ours = Manifest(
        store_id="s",
        schema_version=1,
        program="1",
        created="now",
        messages=0,
        archives=(),
        bytes=0,
        checksums_sha256="0" * 64,
        verified=True,
    )

    assert is_backup_manifest(ours.to_text().encode())
    assert not is_backup_manifest(b'{"name": "mcp-agent-mail backup"}')


def test_what_is_being_made_is_known_by_its_name() -> None:
    made = [
        ".building-0123456789abcdef",
        ".all.tar.saving",
        ".new.restoring",
        ".x.building",
        ".x.exporting",
        ".mail.db.rebuilding",
    ]
    others = [".building-", ".building-x", "a.saving", ".saving", ".x.savings", "building"]

    assert [is_scratch(name) for name in (*made, *others)] == [True] * 6 + [False] * 6
