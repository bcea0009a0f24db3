from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest

from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.transfer.bundles import (
    ArchiveTooLarge,
    UnfitBundle,
    begin_from_bundle,
    bundle_pieces,
    show_files,
)
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.disk_space import is_want_of_room
from mcp_agent_mail.core.git import process
from mcp_agent_mail.core.git.process import FOREIGN_BYTES, GitDiskFull, GitFailed
from tests.archive.bombs import begin_bomb, commit_tree
from tests.archive.one_archive import AT, IDENTITY, NOTE, add_commit, begin, open_writer, text
from tests.faults.disks import small_disk
from tests.on_disk import OnDisk

_MOST = 100_000


def _clock() -> Micros:
    return AT


def _tip(path: Path) -> str:
    tip = ArchiveRepository(path).tip()
    assert tip is not None
    return tip


def _bundled(path: Path) -> bytes:
    return b"".join(bundle_pieces(ArchiveRepository(path), _tip(path)))


def _git(path: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", path, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def _told(path: Path, said: bytes, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", path, *arguments], input=said, check=True, stdout=subprocess.PIPE).stdout


@pytest.fixture
def grown(path: Path, writer: ArchiveWriter) -> Path:
    """Two more commits, with a text that is worth a delta."""
    line = "".join(f"line {number}\n" for number in range(200))
    writer.commit({"messages/a.md": line.encode(), "agents/Blue/outbox/a.md": line.encode()}, text(2), AT)
    writer.commit({"messages/a.md": f"{line}more\n".encode()}, text(3), AT)
    return path


def test_the_same_commit_is_the_same_bytes_however_its_objects_are_packed(grown: Path) -> None:
    before = _bundled(grown)

    _git(grown, "repack", "-adfq", "--depth=1", "--window=1")

    assert _bundled(grown) == before


def test_a_bundle_is_what_git_clones(grown: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "app.bundle"

    bundle.write_bytes(_bundled(grown))
    _git(tmp_path, "clone", "--quiet", str(bundle), "copy")

    assert _git(tmp_path / "copy", "log", "--format=%H %an %s") == _git(grown, "log", "--format=%H %an %s")


def test_an_archive_begun_from_a_bundle_is_gone_on_with_as_the_one_it_is_of(grown: Path, tmp_path: Path) -> None:
    copy, tip = tmp_path / "copy", _tip(grown)

    begin_from_bundle(copy, tip, [_bundled(grown)])
    show_files(copy, most=_MOST, clock=_clock)

    assert {path.relative_to(copy) for path in copy.rglob("*.md")} == {
        p.relative_to(grown) for p in grown.rglob("*.md")
    }
    assert (copy / "messages/a.md").read_bytes() == (grown / "messages/a.md").read_bytes()
    assert open_writer(copy).commit({NOTE: b"on"}, text(4), AT).last_seq == 4
    assert _git(copy, "rev-parse", "main~1").strip() == tip


def test_equal_files_of_a_copy_share_one_inode_and_others_do_not(
    path: Path, writer: ArchiveWriter, tmp_path: Path
) -> None:
    tail, copy = "2027/01/0-499/a.md", tmp_path / "copy"
    names = [f"{folder}/{tail}" for folder in ("messages", "agents/Red/inbox", "agents/Blue/outbox")]
    writer.commit({names[0]: b"same", names[1]: b"same", names[2]: b"more"}, text(2), AT)

    begin_from_bundle(copy, _tip(path), [_bundled(path)])
    show_files(copy, most=_MOST, clock=_clock)

    assert [(copy / name).read_bytes() for name in names] == [b"same", b"same", b"more"]
    assert (copy / names[0]).samefile(copy / names[1])
    assert not (copy / names[0]).samefile(copy / names[2])


def test_beyond_many_files_those_of_recent_months_are_shown(path: Path, tmp_path: Path) -> None:
    old, recent = "messages/2020/01/0-499/a.md", "messages/2027/01/0-499/b.md"
    add_commit(begin(path), {"archive.json": IDENTITY, old: b"old", recent: b"new"}, seq=1)
    copy = tmp_path / "copy"

    begin_from_bundle(copy, _tip(path), [_bundled(path)])
    show_files(copy, most=1, clock=_clock)

    assert ((copy / old).exists(), (copy / recent).exists()) == (False, True)


def _flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def test_a_bundle_of_which_one_byte_differs_is_refused(grown: Path, tmp_path: Path) -> None:
    bundle, tip = _bundled(grown), _tip(grown)

    for number, at in enumerate([3, 20, len(bundle) // 2, len(bundle) - 1]):
        with pytest.raises(UnfitBundle):
            begin_from_bundle(tmp_path / f"copy{number}", tip, [_flipped(bundle, at)])


def test_a_bundle_that_is_cut_off_or_of_another_commit_is_refused(grown: Path, tmp_path: Path) -> None:
    bundle, tip = _bundled(grown), _tip(grown)

    with pytest.raises(UnfitBundle, match="whole history"):
        begin_from_bundle(tmp_path / "short", tip, [bundle[:-30]])
    with pytest.raises(UnfitBundle, match="no bundle of"):
        begin_from_bundle(tmp_path / "other", "0" * 40, [bundle])


def test_a_bundle_that_lacks_what_came_before_is_refused(grown: Path, tmp_path: Path) -> None:
    tip = _tip(grown)
    header = f"# v2 git bundle\n{tip} refs/heads/main\n{tip} HEAD\n\n".encode()
    asked = f"{tip}\n^{tip}~1\n".encode()
    pack = _told(grown, asked, "pack-objects", "-q", "--revs", "--stdout")

    with pytest.raises(UnfitBundle):
        begin_from_bundle(tmp_path / "copy", tip, [header + pack])


def _tree_of(path: Path, mode: str, name: str) -> str:
    """A commit whose tree has `name` in that mode, where an archive has a folder or file of its own."""
    blob = _told(path, b"/etc", "hash-object", "-w", "--stdin").decode().strip()
    tree = _told(path, f"{mode} blob {blob}\t{name}\n".encode(), "mktree").decode().strip()
    return _commit_of(path, tree.encode())


def _commit_of(path: Path, tree: bytes) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x")
    return _told(path, b"", *who, "commit-tree", "-m", "x", tree.decode().strip()).decode().strip()


def test_a_link_where_an_archive_has_files_is_refused(path: Path, tmp_path: Path) -> None:
    repository = begin(path)
    hostile = _tree_of(path, "120000", "agents")

    with pytest.raises(UnfitBundle, match="is a link"):
        begin_from_bundle(tmp_path / "copy", hostile, bundle_pieces(repository, hostile))


def test_a_link_of_a_person_beside_the_archives_files_is_left_out_of_the_work_tree(path: Path, tmp_path: Path) -> None:
    repository = begin(path)
    hostile = _tree_of(path, "120000", "mine")
    copy = tmp_path / "copy"

    begin_from_bundle(copy, hostile, bundle_pieces(repository, hostile))
    show_files(copy, most=_MOST, clock=_clock)

    assert not os.path.lexists(copy / "mine")


def test_a_pack_that_says_it_has_four_billion_objects_ends_in_a_refusal(grown: Path, tmp_path: Path) -> None:
    bundle, tip = _bundled(grown), _tip(grown)
    start = bundle.index(b"PACK")
    lying = bundle[: start + 8] + b"\xff\xff\xff\xff" + bundle[start + 12 :]

    with pytest.raises(UnfitBundle):
        begin_from_bundle(tmp_path / "copy", tip, [lying])


def test_a_pack_whose_index_takes_more_memory_than_git_is_given_is_refused(grown: Path, tmp_path: Path) -> None:
    bundle, tip = _bundled(grown), _tip(grown)
    start = bundle.index(b"PACK")
    # Of each object Git notes more than this, before it has seen one.
    objects = FOREIGN_BYTES // 50
    lying = bundle[: start + 8] + objects.to_bytes(4, "big") + bundle[start + 12 :]

    with pytest.raises(UnfitBundle, match="Out of memory"):
        begin_from_bundle(tmp_path / "copy", tip, [lying])


def test_whatever_follows_a_pack_is_refused(grown: Path, tmp_path: Path) -> None:
    bundle, tip = _bundled(grown), _tip(grown)

    for number, rest in enumerate([b"x", bytes(1 << 20), bundle[bundle.index(b"PACK") :]]):
        with pytest.raises(UnfitBundle, match="follows its pack"):
            begin_from_bundle(tmp_path / f"copy{number}", tip, [bundle, rest])


@pytest.mark.parametrize("entries", [[b".git"], [b".."], [b"a/b"], [b"same", b"same"], [b"b", b"a"]], ids=b"+".join)
def test_a_folder_that_no_git_would_write_is_refused(entries: list[bytes], path: Path, tmp_path: Path) -> None:
    repository = begin(path)
    blob = bytes.fromhex(_told(path, b"text", "hash-object", "-w", "--stdin").decode())
    content = b"".join(b"100644 " + name + b"\0" + blob for name in entries)
    hostile = _commit_of(path, _told(path, content, "hash-object", "-t", "tree", "--literally", "-w", "--stdin"))

    with pytest.raises(UnfitBundle, match="whole history"):
        begin_from_bundle(tmp_path / "copy", hostile, bundle_pieces(repository, hostile))


def test_a_bundle_of_another_branchs_history_alone_is_refused(grown: Path, tmp_path: Path) -> None:
    older, tip = _git(grown, "rev-parse", "main~1").strip(), _tip(grown)
    bundle = b"".join(bundle_pieces(ArchiveRepository(grown), older)).replace(older.encode(), tip.encode())

    with pytest.raises(UnfitBundle, match="whole history"):
        begin_from_bundle(tmp_path / "copy", tip, [bundle])


def test_an_archive_begun_from_a_bundle_is_on_disk(
    grown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, tip, copy = _bundled(grown), _tip(grown), tmp_path / "copy"
    on_disk = OnDisk(monkeypatch)

    begin_from_bundle(copy, tip, [bundle])

    assert on_disk.lacks(copy) == []


def test_a_file_of_which_git_lacks_the_content_is_not_shown_as_an_empty_one(path: Path) -> None:
    begin(path)
    _git(path, "update-ref", "refs/heads/main", _tree_of(path, "100644", "lost"))
    blob = _git(path, "rev-parse", "main:lost").strip()
    (path / ".git/objects" / blob[:2] / blob[2:]).unlink()

    with pytest.raises(GitFailed):
        show_files(path, most=_MOST, clock=_clock)


@pytest.mark.parametrize("where", ["agents", "mine"])
@pytest.mark.parametrize("has_files", [True, False])
def test_a_few_objects_that_stand_for_any_number_of_paths_are_refused(
    path: Path, tmp_path: Path, where: str, has_files: bool
) -> None:
    repository = begin(path)
    add_commit(repository, {"archive.json": IDENTITY}, seq=1)
    blob = _told(path, b"x", "hash-object", "-w", "--stdin").decode().strip()
    hostile = begin_bomb(path, where, levels=30, leaf=f"100644 blob {blob}\tf\n" if has_files else "")

    with pytest.raises(UnfitBundle, match="lists more than"):
        begin_from_bundle(tmp_path / "copy", hostile, bundle_pieces(repository, hostile))


@pytest.mark.parametrize(("levels", "said"), [(30, "out of memory"), (5, "lists more than")])
def test_what_commits_of_the_past_changed_is_bounded_too(
    path: Path, tmp_path: Path, levels: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "FOREIGN_BYTES", 256 << 20)
    repository = begin(path)
    add_commit(repository, {"archive.json": IDENTITY}, seq=1)
    blob = _told(path, b"x", "hash-object", "-w", "--stdin").decode().strip()
    harmless, tip = _git(path, "rev-parse", "main^{tree}").strip(), ""
    for _ in range(2):
        hostile = begin_bomb(path, "mine", levels=levels, leaf=f"100644 blob {blob}\tf\n")
        tip = commit_tree(path, harmless, parent=hostile)
        _git(path, "update-ref", "refs/heads/main", tip)

    with pytest.raises(UnfitBundle, match=said):
        begin_from_bundle(tmp_path / "copy", tip, bundle_pieces(repository, tip))


def test_a_path_that_no_disk_takes_is_refused(path: Path, tmp_path: Path) -> None:
    repository = begin(path)
    hostile = _tree_of(path, "100644", "n" * 5_000)

    with pytest.raises(UnfitBundle, match="longer than"):
        begin_from_bundle(tmp_path / "copy", hostile, bundle_pieces(repository, hostile))


@pytest.mark.parametrize("folder", ["mine", "agents/Red/inbox/2027/01/0-499"])
def test_files_that_would_fill_the_disk_are_not_written(path: Path, tmp_path: Path, folder: str) -> None:
    large = bytes(4 << 20)
    add_commit(begin(path), {"archive.json": IDENTITY, **{f"{folder}/{n}.md": large for n in range(8)}}, seq=1)

    with small_disk(tmp_path / "disk", size_kib=16 * 1024) as disk:
        begin_from_bundle(disk / "copy", _tip(path), [_bundled(path)])
        with pytest.raises(ArchiveTooLarge, match="MiB are free"):
            show_files(disk / "copy", most=_MOST, clock=_clock)

        written = sum(file.stat().st_size for file in (disk / "copy").rglob("*.md"))
        assert written <= (0 if folder == "mine" else 16 << 20)


def test_a_full_disk_proves_nothing_of_a_bundle(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_commit(begin(path), {"archive.json": IDENTITY, "messages/a.md": os.urandom(1 << 20)}, seq=1)

    for size_kib in (8, 64, 512):
        with small_disk(tmp_path / "disk", size_kib=size_kib) as disk:
            monkeypatch.setattr("tempfile.tempdir", str(disk))
            with pytest.raises((GitDiskFull, OSError)) as full:
                begin_from_bundle(disk / "copy", _tip(path), [_bundled(path)])
        assert isinstance(full.value, GitDiskFull) or is_want_of_room(full.value)


def test_pieces_may_be_of_any_size(grown: Path, tmp_path: Path) -> None:
    bundle, tip = _bundled(grown), _tip(grown)
    bytes_one_by_one: Iterable[bytes] = (bundle[at : at + 1] for at in range(200))

    begin_from_bundle(tmp_path / "copy", tip, chain(bytes_one_by_one, [bundle[200:]]))

    assert _tip(tmp_path / "copy") == tip


@pytest.mark.parametrize(
    "name", ["agents/Blue/profile.json", "messages/2026/11/0-499/a.md", "receipts/2026/11/21/1.jsonl"]
)
def test_a_file_that_is_larger_than_any_of_its_kind_is_refused(path: Path, tmp_path: Path, name: str) -> None:
    repository = begin(path)
    hostile = add_commit(repository, {"archive.json": IDENTITY, name: b" " * (12 << 20)}, seq=1)

    with pytest.raises(UnfitBundle, match=r"bytes are too many"):
        begin_from_bundle(tmp_path / "copy", hostile, bundle_pieces(repository, hostile))


def test_files_of_people_may_be_of_any_size(path: Path, tmp_path: Path) -> None:
    repository = begin(path)
    tip = add_commit(repository, {"archive.json": IDENTITY, "messages/plan.bin": b" " * (12 << 20)}, seq=1)

    begin_from_bundle(tmp_path / "copy", tip, bundle_pieces(repository, tip))

    assert _tip(tmp_path / "copy") == tip


def test_a_message_that_has_no_end_is_refused_wherever_it_stands_in_the_history(path: Path, tmp_path: Path) -> None:
    repository = begin(path)
    add_commit(repository, {"archive.json": IDENTITY}, seq=1)
    who = ("-c", "user.name=x", "-c", "user.email=x")
    long = _told(path, b"a\n" * (5 << 20), *who, "commit-tree", "-p", "main", "main^{tree}").decode().strip()
    tip = commit_tree(path, "main^{tree}", parent=long)

    with pytest.raises(UnfitBundle, match="a commit in it has"):
        begin_from_bundle(tmp_path / "copy", tip, bundle_pieces(repository, tip))
