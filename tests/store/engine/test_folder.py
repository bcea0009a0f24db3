from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_agent_mail.core.store_owner import LOCK_FILE
from mcp_agent_mail.domain.own_files import DATABASE_FILE
from mcp_agent_mail.store.engine.folder import ForeignLink, StoreOpenToOthers, require_private_place
from mcp_agent_mail.store.engine.lock import StoreLock


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_its_owners_alone(tmp_path: Path) -> None:
    require_private_place(tmp_path / "a" / "store")

    assert _mode(tmp_path / "a" / "store") == 0o700


@pytest.mark.parametrize("sign", [LOCK_FILE, DATABASE_FILE, f"{DATABASE_FILE}.new"])
@pytest.mark.parametrize("mode", [0o755, 0o750, 0o711, 0o777])
def test_a_store_that_others_may_enter_is_closed_to_them_when_it_is_locked(
    mode: int, sign: str, tmp_path: Path
) -> None:
    root = tmp_path / "store"
    root.mkdir()
    (root / sign).touch()
    root.chmod(mode)

    with StoreLock(root, root / "mail.sqlite3"):
        assert _mode(root) == 0o700


def test_an_empty_folder_is_closed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(mode=0o755)

    require_private_place(tmp_path / "empty")

    assert _mode(tmp_path / "empty") == 0o700


def test_a_folder_that_a_guard_reported_into_before_the_first_start_is_closed(tmp_path: Path) -> None:
    (tmp_path / "store/guard-spool").mkdir(parents=True)
    (tmp_path / "store").chmod(0o755)

    require_private_place(tmp_path / "store")

    assert _mode(tmp_path / "store") == 0o700


def test_a_folder_of_other_things_is_left_as_it_is_and_refused_with_the_command(tmp_path: Path) -> None:
    root = tmp_path / "everything"
    root.mkdir(mode=0o755)
    (root / "thesis.txt").touch()

    with pytest.raises(StoreOpenToOthers) as refused:
        require_private_place(root)

    assert f"chmod go-rwx {root}" in refused.value.hint
    assert _mode(root) == 0o755


def test_a_private_folder_of_other_things_is_taken(tmp_path: Path) -> None:
    root = tmp_path / "mine"
    root.mkdir(mode=0o700)
    (root / "thesis.txt").touch()

    require_private_place(root)

    assert _mode(root) == 0o700


def test_that_a_folder_was_closed_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "store").mkdir(mode=0o755)

    require_private_place(tmp_path / "store")
    require_private_place(tmp_path / "store")

    assert [record.getMessage() for record in caplog.records] == [
        f"STORAGE_ROOT {tmp_path / 'store'} was open to other users (755); it is closed to them now"
    ]


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A store's folder whose `projects` leads elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "store").mkdir(mode=0o700)
    (tmp_path / "store/projects").symlink_to(tmp_path / "elsewhere")
    return tmp_path / "store"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link to somebody else")
@pytest.mark.parametrize("name", ["projects", "attachments", "adopted", "kept", "mail.sqlite3"])
def test_a_link_that_somebody_else_has_put_in_the_store_is_not_written_through(name: str, linked: Path) -> None:
    (linked / "projects").rename(linked / name)
    os.lchown(linked / name, 12_345, 12_345)

    with pytest.raises(ForeignLink, match="user 12345"), StoreLock(linked, linked / "mail.sqlite3"):
        pass

    assert [path.name for path in linked.iterdir()] == [name]


def test_the_owner_of_a_store_may_have_a_part_of_it_elsewhere(linked: Path) -> None:
    with StoreLock(linked, linked / "mail.sqlite3"):
        assert (linked / "projects").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_so_may_whoever_owns_the_folder(linked: Path) -> None:
    for path in (linked, linked / "projects"):
        os.lchown(path, 12_345, 12_345)

    with StoreLock(linked, linked / "mail.sqlite3"):
        pass
