"""An archive that lies in its project whole is moved into the store as data, or left where it is with the reason."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.archive import relocation
from mcp_agent_mail.archive.git_folder import STATE
from mcp_agent_mail.archive.months import KeptMonths, MonthsNote
from mcp_agent_mail.archive.relocation import MOVING_FOLDER, MoveRefused, finish_move, move_into_store
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.workspace import WorkspaceGone
from tests.archive.one_archive import IDENTITY, add_commit, begin
from tests.archive_harness import git


@dataclass(frozen=True)
class Former:
    """`link` stands in the store for the archive at `work_tree`, whose branch is at `tip`."""

    link: Path
    work_tree: Path
    tip: str

    @property
    def git_path(self) -> Path:
        return self.work_tree / ".git"

    def left_over(self) -> list[str]:
        folder = self.link.parent.parent / MOVING_FOLDER
        return [path.name for path in folder.iterdir()] if folder.exists() else []


@pytest.fixture
def former(tmp_path: Path) -> Former:
    work_tree, link = tmp_path / "code" / ".mcp-mail", tmp_path / "store" / "projects" / "code"
    repository = begin(work_tree)
    add_commit(repository, {"archive.json": IDENTITY, "messages/a.md": b"a"}, seq=1)
    tip = add_commit(repository, {"messages/b.md": b"b"}, seq=2)
    link.parent.mkdir(parents=True)
    link.symlink_to(work_tree)
    return Former(link=link, work_tree=work_tree, tip=tip)


def test_it_lies_in_the_store_afterwards_whole_and_its_files_where_they_were(former: Former) -> None:
    former.git_path.joinpath("hooks").mkdir()
    git(former.work_tree, "config", "core.fsmonitor", "/evil")

    move_into_store(former.link, "this-store")

    moved = ArchiveRepository(former.link)
    assert not former.link.is_symlink()
    assert (moved.tip(), moved.work_tree) == (former.tip, former.work_tree)
    assert git(former.link, "--git-dir", str(former.link / ".git"), "fsck", "--strict") == ""
    assert "evil" not in (former.link / ".git/config").read_text()
    assert not (former.link / ".git/hooks").exists()
    assert (former.link / STATE / "open").exists()
    assert not (former.link / STATE / "months").exists()
    assert former.left_over() == []


def test_loose_objects_and_packed_branches_are_taken_too(former: Former) -> None:
    git(former.work_tree, "-c", "gc.packRefs=true", "pack-refs", "--all")
    loose = git(former.work_tree, "hash-object", "-w", "--stdin").strip()

    move_into_store(former.link, "this-store")

    assert ArchiveRepository(former.link).tip() == former.tip
    assert (former.link / ".git/objects" / loose[:2] / loose[2:]).is_file()


def test_which_months_are_shown_is_taken_and_decided_anew(former: Former) -> None:
    MonthsNote(former.work_tree / STATE).write(KeptMonths(months=("2027-01",), cone="abc"))

    move_into_store(former.link, "this-store")

    assert MonthsNote(former.link / STATE).read() == KeptMonths(months=("2027-01",))


def with_alternates(git_path: Path, elsewhere: Path) -> None:
    (git_path / "objects/info").mkdir(exist_ok=True)
    (git_path / "objects/info/alternates").write_text(f"{elsewhere}\n")


def with_another_common_directory(git_path: Path, elsewhere: Path) -> None:
    (git_path / "commondir").write_text(f"{elsewhere}\n")


def as_a_link(git_path: Path, elsewhere: Path) -> None:
    git_path.rename(elsewhere / "moved")
    git_path.symlink_to(elsewhere / "moved")


def as_a_file(git_path: Path, elsewhere: Path) -> None:
    git_path.rename(elsewhere / "moved")
    git_path.write_text(f"gitdir: {elsewhere}/moved\n")


def with_a_linked_pack(git_path: Path, elsewhere: Path) -> None:
    pack = next((git_path / "objects/pack").glob("*.pack"))
    pack.rename(elsewhere / "pack")
    pack.symlink_to(elsewhere / "pack")


def with_a_fifo_for_a_pack(git_path: Path, _: Path) -> None:
    pack = next((git_path / "objects/pack").glob("*.pack"))
    pack.unlink()
    os.mkfifo(pack)


def with_a_broken_pack(git_path: Path, _: Path) -> None:
    pack = next((git_path / "objects/pack").glob("*.pack"))
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 0xFF
    pack.unlink()
    pack.write_bytes(content)


def without_its_branch(git_path: Path, _: Path) -> None:
    (git_path / "refs/heads/main").unlink()


def with_a_linked_branch(git_path: Path, elsewhere: Path) -> None:
    branch = git_path / "refs/heads/main"
    branch.rename(elsewhere / "main")
    branch.symlink_to(elsewhere / "main")


def with_a_branch_that_names_no_commit(git_path: Path, _: Path) -> None:
    (git_path / "refs/heads/main").write_text("--evil\n")


def of_another_store(git_path: Path, _: Path) -> None:
    add_commit(ArchiveRepository(git_path.parent), {"archive.json": json.dumps({"store_id": "theirs"}).encode()})


def of_no_store(git_path: Path, _: Path) -> None:
    add_commit(ArchiveRepository(git_path.parent), {"archive.json": None})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (with_alternates, ".git/objects/info/alternates leads to another repository"),
        (with_another_common_directory, ".git/commondir leads to another repository"),
        (as_a_link, "is no plain file or folder of Git"),
        (as_a_file, "is no plain file or folder of Git"),
        (with_a_linked_pack, "is no plain file or folder of Git"),
        (with_a_fifo_for_a_pack, "is no plain file or folder of Git"),
        (with_a_broken_pack, "git index-pack"),
        (without_its_branch, "it has no branch refs/heads/main"),
        (with_a_linked_branch, "main cannot be read: it is a symbolic link"),
        (with_a_branch_that_names_no_commit, "it has no branch refs/heads/main"),
        (of_another_store, "it belongs to store theirs"),
        (of_no_store, "it belongs to no store"),
    ],
)
def test_one_that_somebody_changed_is_refused_by_name_and_stays(
    former: Former, tmp_path: Path, change: Callable[[Path, Path], None], why: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    change(former.git_path, elsewhere)

    with pytest.raises(MoveRefused) as refused:
        move_into_store(former.link, "this-store")

    assert refused.value.message.startswith(f"{former.work_tree} is not taken for the archive that {former.link}")
    assert why in refused.value.message
    assert "am doctor repair" in refused.value.hint
    assert (former.link.is_symlink(), former.left_over()) == (True, [])


def with_a_vast_pack(git_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of holes: it takes nothing where it lies, and all of its size where it is copied to."""
    with (git_path / "objects/pack" / f"pack-{'0' * 40}.pack").open("wb") as pack:
        pack.truncate(64 << 20)
    usage = shutil.disk_usage(git_path)._replace(free=relocation.RESERVE_BYTES + (1 << 20))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)


def with_many_files(git_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (git_path / f"objects/tmp_{number}").touch()
    monkeypatch.setattr(relocation, "MOST_FILES", 20)


@pytest.mark.parametrize(
    ("change", "why"),
    [(with_a_vast_pack, "it needs more than what is free"), (with_many_files, "it has more than 20 files")],
)
def test_one_that_has_no_room_in_the_store_stays(
    former: Former, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path, pytest.MonkeyPatch], None], why: str
) -> None:
    change(former.git_path, monkeypatch)

    with pytest.raises(MoveRefused, match=why) as refused:
        move_into_store(former.link, "this-store")

    assert "free some space" in refused.value.hint
    assert (former.link.is_symlink(), former.left_over()) == (True, [])


@pytest.mark.parametrize("place", ["anywhere", ".mcp-mail"])
def test_a_link_that_leads_anywhere_else_is_refused(former: Former, tmp_path: Path, place: str) -> None:
    target = tmp_path / place if place == "anywhere" else Path(place)
    former.link.unlink()
    former.link.symlink_to(target)

    with pytest.raises(MoveRefused, match=f"{former.link} is a link to {target}, and"):
        move_into_store(former.link, "this-store")


def test_where_the_project_is_gone_that_is_told(former: Former) -> None:
    former.work_tree.parent.rename(former.work_tree.parent.with_name("away"))

    with pytest.raises(WorkspaceGone):
        move_into_store(former.link, "this-store")

    assert former.link.is_symlink()


def test_what_a_move_that_was_cut_off_left_goes_with_the_next_one(former: Former) -> None:
    folder = former.link.parent.parent / MOVING_FOLDER
    for name in ("code.half", "code"):
        (folder / name / ".git").mkdir(parents=True)
    (folder / "another").mkdir()

    move_into_store(former.link, "this-store")

    assert former.left_over() == ["another"]
    assert ArchiveRepository(former.link).tip() == former.tip


def test_a_move_that_was_cut_off_when_all_was_there_is_finished(former: Former) -> None:
    move_into_store(former.link, "this-store")
    whole = former.link.parent.parent / MOVING_FOLDER / "code"
    former.link.rename(whole)
    finish_move(former.link)

    finish_move(former.link)

    assert ArchiveRepository(former.link).tip() == former.tip
    assert former.left_over() == []


def test_nothing_takes_the_place_of_what_is_there(former: Former) -> None:
    whole = former.link.parent.parent / MOVING_FOLDER / "code"
    whole.mkdir(parents=True)

    finish_move(former.link)

    assert (former.link.is_symlink(), former.left_over()) == (True, ["code"])
