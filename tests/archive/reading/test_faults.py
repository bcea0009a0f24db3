from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.reading.faults import ArchiveDamaged, damage_of, damage_told
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.git.process import GitFailed
from tests.archive_harness import git


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "shop"
    repository = ArchiveRepository(path)
    repository.create()
    (path / "a").write_text("a\n" * 1_000)
    git(path, "add", "a")
    git(path, "-c", "user.name=n", "-c", "user.email=e@e", "commit", "-q", "-m", "a")
    return path


def spoil(archive: Path) -> None:
    for place in (archive / ".git/objects").glob("??/*"):
        place.chmod(0o600)
        place.write_bytes(b"\xa5" * place.stat().st_size)


def test_a_whole_archive_and_none_at_all_have_no_damage(archive: Path) -> None:
    assert damage_of(archive) is None
    assert damage_of(archive.with_name("other")) is None


def test_what_fails_for_damage_is_told_with_the_project_and_the_next_step(archive: Path) -> None:
    spoil(archive)

    with pytest.raises(ArchiveDamaged, match="shop is damaged") as told, damage_told(archive):
        raise GitFailed("cannot")

    assert str(archive) in told.value.message
    assert "am doctor repair" in told.value.hint


def test_what_fails_for_another_reason_is_raised_as_it_is(archive: Path) -> None:
    with pytest.raises(GitFailed, match="too late"), damage_told(archive):
        raise GitFailed("too late")


def test_a_torn_index_of_the_work_tree_is_no_damage(archive: Path) -> None:
    (archive / ".git/index").write_bytes(b"torn")

    assert damage_of(archive) is None
