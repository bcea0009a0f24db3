"""Packs stay few, and whatever happens while they are joined, every object stays in one of them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.archive.fast_import import NewCommit, Signature, import_commit
from mcp_agent_mail.archive.packs import (
    FACTOR,
    FEW_PACKS,
    Pack,
    count_packs,
    list_packs,
    pack_folder,
    packs_to_join,
    start_repack,
)
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.git.process import GitFailed
from tests.archive_harness import Killed, git, killed_at

LONG_S = 60.0
US = Signature(name="mcp-agent", email="mcp-agent@example.com")


@pytest.fixture
def repository(tmp_path: Path) -> ArchiveRepository:
    """With ten packs of one commit each."""
    opened = ArchiveRepository(tmp_path / "app")
    opened.create()
    for number in range(10):
        add_pack(opened, number)
    return opened


def add_pack(repository: ArchiveRepository, number: int) -> None:
    files = {f"messages/{number}.md": b"mail %d" % number, "archive.json": b"%d" % number}
    at = Micros(1_800_000_000 * SECOND)
    commit = NewCommit(files=files, message=f"{number}\n", author=US, committer=US, at=at)
    import_commit(repository, commit, onto=repository.tip())


def join(repository: ArchiveRepository, fault_hook: FaultHook = no_fault) -> None:
    repack = start_repack(repository, fault_hook)
    assert repack is not None
    repack.finish(LONG_S)


def is_whole(repository: ArchiveRepository, commits: int = 10) -> bool:
    assert git(repository.path, "fsck", "--strict") == ""
    return int(git(repository.path, "rev-list", "--count", "main")) == commits


def test_small_packs_become_one(repository: ArchiveRepository) -> None:
    join(repository)

    assert count_packs(repository) == 1
    assert is_whole(repository)


def test_where_many_stay_they_have_an_index_over_all(repository: ArchiveRepository) -> None:
    repack = start_repack(repository, no_fault)
    assert repack is not None
    for number in range(10, 10 + FEW_PACKS):
        add_pack(repository, number)
    repack.finish(LONG_S)

    assert count_packs(repository) == FEW_PACKS + 1
    assert (pack_folder(repository) / "multi-pack-index").exists()
    assert is_whole(repository, 10 + FEW_PACKS)


def test_an_index_over_all_never_names_a_pack_that_was_dropped(repository: ArchiveRepository) -> None:
    git(repository.path, "multi-pack-index", "write")

    join(repository)

    assert not (pack_folder(repository) / "multi-pack-index").exists()
    assert is_whole(repository)


def test_a_big_pack_is_left_alone(repository: ArchiveRepository) -> None:
    join(repository)
    (big,) = list_packs(repository)
    for number in range(10, 14):
        add_pack(repository, number)

    join(repository)

    assert big in list_packs(repository)
    assert count_packs(repository) == 2
    assert is_whole(repository, 14)


def test_where_sizes_double_there_is_nothing_to_join(repository: ArchiveRepository) -> None:
    join(repository)

    assert start_repack(repository, no_fault) is None


def test_a_pack_that_a_person_keeps_stays(repository: ArchiveRepository) -> None:
    kept = list_packs(repository)[0]
    (pack_folder(repository) / f"{kept.name}.keep").touch()

    join(repository)

    assert (pack_folder(repository) / f"{kept.name}.pack").exists()
    assert is_whole(repository)


def test_what_is_imported_while_packs_are_joined_stays(repository: ArchiveRepository) -> None:
    repack = start_repack(repository, no_fault)
    assert repack is not None
    add_pack(repository, 10)

    repack.finish(LONG_S)

    assert count_packs(repository) == 2
    assert is_whole(repository, 11)


@pytest.mark.parametrize("point", [FailPoint.REPACK, FailPoint.REPACK_DELETE])
def test_killed_while_packs_are_joined_the_archive_is_whole_and_the_next_one_joins_them(
    repository: ArchiveRepository, point: FailPoint
) -> None:
    with pytest.raises(Killed):
        join(repository, killed_at(point))
    assert is_whole(repository)
    add_pack(repository, 10)
    add_pack(repository, 11)

    join(repository)

    assert count_packs(repository) <= 3
    assert is_whole(repository, 12)


def test_nothing_vanishes_before_the_new_pack_and_the_index_over_all_are_there(repository: ArchiveRepository) -> None:
    seen: list[int] = []

    def fault_hook(point: FailPoint) -> None:
        if point is FailPoint.REPACK:
            seen.append(count_packs(repository))

    join(repository, fault_hook)

    assert seen == [11]


def test_one_that_takes_too_long_is_ended_and_leaves_everything_as_it_was(
    repository: ArchiveRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = list_packs(repository)
    endless = tmp_path / "endless" / "git"
    endless.parent.mkdir()
    endless.write_text("#!/bin/sh\nexec sleep 600\n")
    endless.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{endless.parent}{os.pathsep}{os.environ['PATH']}")
        repack = start_repack(repository, no_fault)
    assert repack is not None

    with pytest.raises(GitFailed, match="not joined within") as failed:
        repack.finish(0)

    assert str(repository.path) in failed.value.message
    assert list_packs(repository) == before
    assert list(pack_folder(repository).glob("tmp_*")) == []
    assert is_whole(repository)


def test_a_damaged_pack_is_never_joined_away(repository: ArchiveRepository) -> None:
    name = list_packs(repository)[0].name
    path = pack_folder(repository) / f"{name}.pack"
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:40])
    repack = start_repack(repository, no_fault)
    assert repack is not None

    with pytest.raises(GitFailed, match="pack-objects"):
        repack.finish(LONG_S)

    assert count_packs(repository) == 10


SIZES = st.lists(st.integers(1, 10_000), max_size=60)


@given(SIZES)
def test_after_joining_each_pack_is_at_least_twice_the_next_smaller(sizes: Sequence[int]) -> None:
    packs = [Pack(name=f"pack-{number}", objects=size) for number, size in enumerate(sizes)]

    joined = packs_to_join(packs)

    left = [pack.objects for pack in packs if pack not in joined]
    total = sum(pack.objects for pack in joined)
    after = sorted([*left, total] if joined else left)
    assert all(bigger >= FACTOR * smaller for smaller, bigger in itertools.pairwise(after))
    assert len(joined) != 1
