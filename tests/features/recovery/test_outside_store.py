from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.backups.backup import BackupMaker
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.export import export
from mcp_agent_mail.features.recovery.outside_store import PartOfStore, require_outside
from mcp_agent_mail.features.recovery.restore_saved import RestoreRequest, restore_into
from mcp_agent_mail.features.recovery.save import save
from mcp_agent_mail.features.recovery.scratch import UnfitTarget
from tests.features.recovery.team import Team, silent

_PLACES = ("store/projects/new", "store/attachments/aa", "store/new/deep", "link/new", "store/../store/new")


def _make_each(team: Team, saved: Path, target: Path) -> None:
    """Everything that is made at a place of somebody's choice; each must refuse."""
    with pytest.raises(PartOfStore):
        save(team.root, target, known=None, progress=silent)
    with pytest.raises(PartOfStore):
        export(team.root / "projects/code-app", target, storage_root=team.root, is_exact=True, progress=silent)
    request = RestoreRequest(
        file=saved, new_paths=(), settings=team.harness.settings, unpacking=silent, rebuilding=silent
    )
    with pytest.raises(PartOfStore):
        restore_into(request, target)
    with pytest.raises(PartOfStore):
        BackupMaker(place=StorePlace(storage_root=team.root, database_path=team.harness.database)).make(target, keep=1)


@pytest.mark.parametrize("place", _PLACES)
def test_nothing_is_made_in_the_store_by_whatever_way(
    team: Team, saved_pattern: Path, tmp_path: Path, place: str
) -> None:
    (tmp_path / "link").symlink_to(team.root)
    before = sorted(team.root.rglob("*"))

    _make_each(team, saved_pattern, tmp_path / place)

    assert sorted(team.root.rglob("*")) == before


def test_a_folder_around_the_store_is_not_made_and_one_beside_it_is(tmp_path: Path) -> None:
    root = tmp_path / "store"
    root.mkdir()

    require_outside(root, tmp_path / "store-2", is_made=True)
    require_outside(root, tmp_path)
    for around in (root, tmp_path, tmp_path.parent):
        with pytest.raises(PartOfStore) as refused:
            require_outside(root, around, is_made=True)
        assert (refused.value.code, refused.value.hint) == ("INVALID_INPUT", "Name a place outside of it.")


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_file_is_no_folder_of_backups(team: Team, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("mine")
    maker = BackupMaker(place=StorePlace(storage_root=team.root, database_path=team.harness.database))

    with pytest.raises(UnfitTarget):
        maker.make(tmp_path / place, keep=1)

    assert (tmp_path / "file").read_text() == "mine"
