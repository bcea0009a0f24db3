"""From archives alone comes the store that wrote them: its rows, its dump, and every answer that reading gives."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from tests.rebuild.histories import Played, play
from tests.rebuild.kinds import DERIVED, KINDS, count_files, drop, tip, unclassified
from tests.rebuild.rebuilding import compare, differing_lines, findings_of, rebuild
from tests.rebuild.records import NOT_REBUILT, next_numbers

HISTORIES = 300
_AT_ONCE = 10
_SHORT = 60
_FAR = 100_000


async def _compare_one(folder: Path, seed: int, length: int | None = None) -> Played:
    played = (
        await play(folder / "played", seed) if length is None else await play(folder / "played", seed, length=length)
    )
    rebuilt = rebuild(played, folder / "rebuilt")

    compared = await compare(played, rebuilt, folder / "asked")

    assert compared.is_equal, f"history {seed}:\n{compared}"
    return played


@pytest.mark.parametrize("seed", range(3))
async def test_a_short_history_is_rebuilt_as_it_was(tmp_path: Path, seed: int) -> None:
    await _compare_one(tmp_path, seed, _SHORT)


@pytest.mark.rebuild
@pytest.mark.parametrize("first", range(0, HISTORIES, _AT_ONCE))
async def test_histories_are_rebuilt_as_they_were(tmp_path: Path, first: int) -> None:
    used: Counter[str] = Counter()
    for seed in range(first, first + _AT_ONCE):
        folder = tmp_path / str(seed)
        used += (await _compare_one(folder, seed)).succeeded
        shutil.rmtree(folder)
    assert used["send_message"] > _AT_ONCE


async def test_numbers_that_archives_never_saw_are_not_given_again(tmp_path: Path) -> None:
    played = await play(tmp_path / "played", 9, length=20)

    before, after = next_numbers(played.database), next_numbers(rebuild(played, tmp_path / "rebuilt"))

    in_git = {name: 0 if name in NOT_REBUILT else number for name, number in before.items()}
    # Far above the last that Git has seen, which is not always the last that was given out.
    assert {name: after[name] > number + _FAR // 2 for name, number in in_git.items()} == dict.fromkeys(before, True)


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A history with files of every kind."""
    return asyncio.run(play(tmp_path_factory.mktemp("rich"), 12, length=500))


def _copy_without(rich: Played, folder: Path, pattern: str) -> tuple[Played, int]:
    copy = Played(root=folder / "store", now=rich.now, succeeded=rich.succeeded, refused=rich.refused)
    shutil.copytree(rich.root, copy.root, symlinks=True)
    return copy, sum(drop(archive, pattern) for archive in copy.archives.iterdir() if archive.is_dir())


@pytest.mark.rebuild
def test_every_file_of_an_archive_is_of_a_kind(rich: Played) -> None:
    archives = [archive for archive in rich.archives.iterdir() if archive.is_dir()]

    assert [path for archive in archives for path in unclassified(archive)] == []
    found = {kind: sum(count_files(archive, pattern) for archive in archives) for kind, pattern in KINDS.items()}
    assert [kind for kind, number in found.items() if not number] == []


@pytest.mark.rebuild
@pytest.mark.parametrize("kind", KINDS)
def test_without_any_one_kind_of_file_it_fails(rich: Played, tmp_path: Path, kind: str) -> None:
    robbed, dropped = _copy_without(rich, tmp_path, KINDS[kind])
    assert dropped > 0

    try:
        rebuilt = rebuild(robbed, tmp_path / "rebuilt")
    except RebuildRefused:
        return
    assert findings_of(robbed, rebuilt) or differing_lines(rich.database, rebuilt)


@pytest.mark.rebuild
def test_what_is_made_of_other_files_is_not_missed(rich: Played, tmp_path: Path) -> None:
    robbed, _ = _copy_without(rich, tmp_path, "|".join(DERIVED.values()))

    rebuilt = rebuild(robbed, tmp_path / "rebuilt")

    renamed = dict(zip(_tips(robbed), _tips(rich), strict=True))
    differing = differing_lines(rich.database, rebuilt)
    had = [line[2:] for line in differing if line.startswith("- ")]
    has = [line[2:] for line in differing if line.startswith("+ ")]
    assert has
    assert all(any(name in line for name in renamed) for line in has), "nothing but the newest commit of each archive"
    for name, former in renamed.items():
        has = [line.replace(name, former) for line in has]
    assert sorted(has) == sorted(had)


def _tips(played: Played) -> list[str]:
    return [tip(archive) for archive in sorted(played.archives.iterdir()) if archive.is_dir()]
