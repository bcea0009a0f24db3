from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.backups.saved_source import ProjectsMissing
from mcp_agent_mail.features.recovery.backups.source import ForeignBackup
from mcp_agent_mail.features.recovery.save import save
from mcp_agent_mail.features.recovery.saved_file import UnfitSavedFile
from mcp_agent_mail.store.engine.sqlite.numbers import GAP, read_numbers
from tests.archive_harness import open_archive_harness
from tests.features.recovery.backups.harness import Stored, faults_in, files_below, restorer_of, subjects_in
from tests.features.recovery.team import silent


@pytest.fixture(scope="session")
def saved(filled: Stored, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the store before it went on; to be read alone."""
    target = tmp_path_factory.mktemp("saved") / "store.tar"
    save(filled.harness.root, target, known=None, progress=silent)
    return target


def test_a_saved_file_takes_the_place_of_its_store_which_comes_back_by_undo(went_on: StorePlace, saved: Path) -> None:
    before = read_numbers(went_on.database_path)
    assert before is not None

    done = restorer_of(went_on).restore(saved)

    assert (done.verified, done.messages, done.projects, done.left_out) == (True, 1, 2, ())
    assert "registration tokens" in done.not_rebuilt
    assert (subjects_in(went_on), faults_in(went_on)) == (["Plan"], [])
    after = read_numbers(went_on.database_path)
    assert after is not None
    assert all(after.sequences[name] >= number + GAP for name, number in before.sequences.items())
    restorer_of(went_on).undo()
    assert (subjects_in(went_on), faults_in(went_on)) == (["Plan", "after the backup"], [])


def test_an_empty_place_takes_any_saved_file(tmp_path: Path, saved: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    place = StorePlace(storage_root=tmp_path / "elsewhere", database_path=tmp_path / "elsewhere" / "mail.sqlite3")

    done = restorer_of(place).restore(saved)

    assert (done.undo, subjects_in(place), faults_in(place)) == (None, ["Plan"], [])


def test_a_part_of_a_store_takes_the_place_of_none(went_on: StorePlace, stored: Stored, tmp_path: Path) -> None:
    save(stored.harness.root, tmp_path / "app.tar", known=None, only=[stored.project.slug], progress=silent)

    with pytest.raises(ProjectsMissing, match="holds 1 projects"):
        restorer_of(went_on).restore(tmp_path / "app.tar")

    assert subjects_in(went_on) == ["Plan", "after the backup"]


def test_another_store_and_a_damaged_file_change_nothing(went_on: StorePlace, saved: Path, tmp_path: Path) -> None:
    with open_archive_harness(tmp_path / "other") as harness:
        harness.add_agent(harness.add_project("/code/other"), "BlueLake")
        harness.archive()
    save(tmp_path / "other", tmp_path / "other.tar", known=None, progress=silent)
    content = bytearray(saved.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "damaged.tar").write_bytes(content)
    before = files_below(went_on.storage_root)

    with pytest.raises(ForeignBackup):
        restorer_of(went_on).restore(tmp_path / "other.tar")
    with pytest.raises(UnfitSavedFile):
        restorer_of(went_on).restore(tmp_path / "damaged.tar")

    assert files_below(went_on.storage_root) == before
