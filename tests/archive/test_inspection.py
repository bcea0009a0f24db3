"""An archive as checks read it: what Git has, what the work tree shows, and what strangers did. Nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.archive import inspection
from mcp_agent_mail.archive.git_folder import STATE
from mcp_agent_mail.archive.inspection import Inspection, StrangerChange, TreeFile, git_version
from mcp_agent_mail.archive.months import KeptMonths, MonthsNote
from mcp_agent_mail.archive.ownership import ForeignArchive, OutboxPosition
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.workspace import WorkspaceGone, begin_in_workspace
from mcp_agent_mail.core.ids import OutboxSeq
from tests.archive.one_archive import IDENTITY, add_commit, begin
from tests.archive_harness import git


@pytest.fixture
def repository(path: Path) -> ArchiveRepository:
    repository = begin(path)
    add_commit(repository, {"archive.json": IDENTITY, "messages/2027/01/a.md": b"a", "z.md": b"z"}, seq=1)
    git(path, "reset", "-q", "--hard")
    return repository


def _file(path: Path, name: str) -> TreeFile:
    return TreeFile(path=name, blob=git(path, "rev-parse", f"main:{name}").strip())


def test_git_says_what_it_is() -> None:
    assert git_version().startswith("git version 2.")


def test_every_file_of_a_commit_is_told_in_order(repository: ArchiveRepository, path: Path) -> None:
    names = ("archive.json", "messages/2027/01/a.md", "z.md")

    assert list(Inspection(path).files("main")) == [_file(path, name) for name in names]
    assert (Inspection(path).exists(), Inspection(path).path) == (True, repository.path)
    assert not Inspection(path.with_name("nothing")).exists()


def test_it_must_be_this_stores(repository: ArchiveRepository, path: Path) -> None:
    claim = OutboxPosition(highest_seq=OutboxSeq(1))

    Inspection(path).require_fit("this-store", claim)

    with pytest.raises(ForeignArchive):
        Inspection(path).require_fit("other", claim)
    assert repository.tip() is not None


def test_commits_are_there_or_part_of_the_branch_or_neither(repository: ArchiveRepository, path: Path) -> None:
    tip = str(repository.tip())
    beside = git(path, "commit-tree", "-m", "beside", "main^{tree}").strip()
    look = Inspection(path)

    assert [(look.has_commit(at), look.is_on_branch(at)) for at in (tip, beside, "0" * 40)] == [
        (True, True),
        (True, False),
        (False, False),
    ]


@pytest.mark.parametrize(
    ("name", "change", "how"),
    [
        ("z.md", None, None),
        ("z.md", b"other", "different"),
        ("z.md", b"", "different"),
        ("messages/2027/01/a.md", "gone", "missing"),
        ("z.md", "pipe", "missing"),
    ],
)
def test_what_people_see_is_compared_with_git(
    repository: ArchiveRepository, path: Path, name: str, change: bytes | str | None, how: str | None
) -> None:
    if isinstance(change, bytes):
        (path / name).write_bytes(change)
    elif change is not None:
        (path / name).unlink()
    if change == "pipe":
        os.mkfifo(path / name)

    assert Inspection(path).work_tree_differs(_file(repository.path, name)) == how


def test_a_file_that_was_written_again_since_the_commit_is_no_difference(
    repository: ArchiveRepository, path: Path
) -> None:
    before = _file(path, "z.md")
    add_commit(repository, {"z.md": b"newer"})
    (path / "z.md").write_bytes(b"newer")

    assert Inspection(path).work_tree_differs(before) is None


def test_a_file_that_git_no_longer_has_is_missing_when_it_is_gone(repository: ArchiveRepository, path: Path) -> None:
    before = _file(path, "z.md")
    (path / "z.md").unlink()
    without = Inspection(path).work_tree_differs(before)
    add_commit(repository, {"z.md": None})

    assert (without, Inspection(path).work_tree_differs(before)) == ("missing", None)


def test_one_git_answers_for_all_files_that_are_missing_and_sees_what_comes_meanwhile(
    repository: ArchiveRepository, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("archive.json", "messages/2027/01/a.md", "z.md")
    files, look, begun = [_file(path, name) for name in names], Inspection(path), _count_git(monkeypatch)
    for name in names:
        (path / name).unlink()

    with look.asking():
        before = [look.work_tree_differs(file) for file in files]
        asked = list(begun)
        add_commit(repository, {"z.md": None})
        after = [look.work_tree_differs(file) for file in files]

    assert before == ["missing"] * 3
    assert asked == [("cat-file", "--batch-check=%(objectname)")]
    assert after == ["missing", "missing", None]


def _count_git(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Every command of an archive's Git from now on, but what writes commits."""
    begun: list[tuple[str, ...]] = []
    talk, git_of = ArchiveRepository.talk, ArchiveRepository.git

    def telling(way: Callable[..., object]) -> Callable[..., object]:
        def tell(self: ArchiveRepository, *arguments: str, **how: object) -> object:
            begun.append(arguments)
            return way(self, *arguments, **how)

        return tell

    monkeypatch.setattr(ArchiveRepository, "talk", telling(talk))
    monkeypatch.setattr(ArchiveRepository, "git", telling(git_of))
    return begun


def test_a_file_of_a_month_that_was_put_away_need_not_be_there(repository: ArchiveRepository, path: Path) -> None:
    MonthsNote(path / STATE).write(KeptMonths(months=("2027-02",)))
    (path / "messages/2027/01/a.md").unlink()
    (path / "z.md").unlink()

    look = Inspection(repository.path)

    assert look.work_tree_differs(_file(path, "messages/2027/01/a.md")) is None
    assert look.work_tree_differs(_file(path, "z.md")) == "missing"


def test_copies_of_one_file_are_read_once_and_a_change_is_seen(
    repository: ArchiveRepository, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "_HASHES_REMEMBERED", 1)
    look, files = Inspection(path), [_file(path, "z.md"), _file(path, "archive.json")]

    before = [look.work_tree_differs(file) for file in files]
    (path / "z.md").write_bytes(b"other")

    assert before == [None, None]
    assert look.work_tree_differs(files[0]) == "different"
    assert len(look._hashed) == 1
    assert repository.is_checked_out()


def test_what_strangers_did_to_our_files_is_told_newest_first(repository: ArchiveRepository, path: Path) -> None:
    since = str(repository.tip())
    add_commit(repository, {"messages/2027/01/b.md": b"b"}, seq=2)
    git(path, "reset", "-q", "--hard")
    changed = []
    for name in ("messages/2027/01/a.md", "notes.md", "archive.json"):
        (path / name).write_text("theirs")
        git(path, "add", name)
        git(path, "commit", "-q", "-m", f"theirs: {name}")
        changed.append(StrangerChange(hexsha=git(path, "rev-parse", "main").strip(), path=name))

    assert list(Inspection(path).stranger_changes(since)) == [changed[2], changed[0]]


def test_a_broken_object_is_what_fsck_finds(repository: ArchiveRepository, path: Path) -> None:
    whole = Inspection(path).fsck()
    (pack,) = (path / ".git/objects/pack").glob("*.pack")
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 0xFF
    pack.chmod(0o644)
    pack.write_bytes(content)

    assert whole is None
    assert "fsck" in str(Inspection(repository.path).fsck())


def test_whether_people_look_at_our_branch_is_told(repository: ArchiveRepository, path: Path) -> None:
    ours = Inspection(path).is_checked_out()
    git(repository.path, "switch", "-q", "-c", "theirs")

    assert (ours, Inspection(path).is_checked_out()) == (True, False)


def test_the_place_of_its_files_must_be_there_where_that_is_a_project(path: Path, tmp_path: Path) -> None:
    begin(path)
    (tmp_path / "code").mkdir()
    place = tmp_path / "store" / "projects" / "code"
    begin_in_workspace(place, tmp_path / "code")

    Inspection(path).require_place()
    Inspection(place).require_place()
    (tmp_path / "code").rename(tmp_path / "moved")

    with pytest.raises(WorkspaceGone):
        Inspection(place).require_place()


def test_one_that_lies_in_its_project_whole_is_not_looked_into(repository: ArchiveRepository, path: Path) -> None:
    MonthsNote(path / STATE).write(KeptMonths(months=("2027-02",)))
    link = path.with_name("link")
    link.symlink_to(repository.path)

    look = Inspection(link)

    assert (look.exists(), look._kept) == (False, None)
