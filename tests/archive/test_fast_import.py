"""One commit by `git fast-import`: whole and on the branch, or nothing at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import which

import pytest

from mcp_agent_mail.archive import fast_import
from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.archive.contents import Contents
from mcp_agent_mail.archive.fast_import import NewCommit, Put, Signature, import_commit, import_large
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.domain.archive_format.attachments import Content
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.archive_format.layout import Changes
from mcp_agent_mail.domain.attachments import StoredContent
from tests.archive.one_archive import AT, US, add_commit, begin
from tests.archive_harness import git
from tests.stored_contents import content_path, keep_content

LONG_S = 60.0


@pytest.fixture
def repository(path: Path) -> ArchiveRepository:
    return begin(path)


def _new(files: Mapping[str, Content | None] | None = None, *, joined: str | None = None) -> NewCommit:
    ann = Signature(name="Ann", email="ann@example.com")
    return NewCommit(message="work\n", author=ann, committer=US, at=AT, files=files or {}, joined=joined)


def _large(
    repository: ArchiveRepository, fill: Callable[[Put], None], *, onto: str | None, joined: str | None = None
) -> str:
    return import_large(repository, _new(joined=joined), fill, onto=onto, timeout_s=LONG_S)


def test_a_commit_holds_its_files_and_who_made_it(repository: ArchiveRepository) -> None:
    first = import_commit(repository, _new({"a": b"one", "b": b"one", "c/d": b"two\n"}), onto=None)
    second = import_commit(repository, _new({"a": None, "caf\u00e9": b""}), onto=first)

    assert git(repository.path, "ls-tree", "-r", "-z", "--name-only", first) == "a\0b\0c/d\0"
    assert git(repository.path, "ls-tree", "-r", "-z", "--name-only", "main") == "b\0c/d\0caf\u00e9\0"
    assert git(repository.path, "log", "-1", "--format=%an|%ae|%cn|%at|%ct|%P|%H", "main") == (
        f"Ann|ann@example.com|mcp-agent|1800000000|1800000000|{first}|{second}\n"
    )
    assert git(repository.path, "for-each-ref", "--format=%(refname)") == "refs/heads/main\n"
    assert git(repository.path, "fsck", "--strict") == ""


def test_many_files_are_put_one_by_one_and_each_content_is_packed_once(repository: ArchiveRepository) -> None:
    base = add_commit(repository, {"gone": b"x", "kept": b"kept"})

    def fill(put: Put) -> None:
        for number in range(10):
            put(f"same/{number}", b"same")
        put("gone", None)

    tip = _large(repository, fill, onto=base)

    assert git(repository.path, "rev-parse", "main").strip() == tip
    names = git(repository.path, "ls-tree", "-r", "--name-only", "main").split()
    assert names == ["kept", *(f"same/{number}" for number in range(10))]


def test_another_history_is_joined_as_a_second_parent(repository: ArchiveRepository) -> None:
    base = add_commit(repository, {"a": b"a"})
    other = git(repository.path, "commit-tree", "-m", "other", f"{base}^{{tree}}").strip()

    small = import_commit(repository, _new({"b": b"b"}, joined=other), onto=base)
    large = _large(repository, lambda put: put("c", b"c"), onto=small, joined=other)

    assert git(repository.path, "log", "-2", "--format=%P", "main").split("\n") == [
        f"{small} {other}",
        f"{base} {other}",
        "",
    ]
    assert git(repository.path, "rev-parse", "main").strip() == large


def test_on_a_branch_that_has_gone_on_nothing_is_lost_and_nothing_added(repository: ArchiveRepository) -> None:
    base = add_commit(repository, {"a": b"a"})
    theirs = add_commit(repository, {"b": b"b"})

    with pytest.raises(GitFailed):
        import_commit(repository, _new({"c": b"c"}), onto=base)

    assert git(repository.path, "rev-parse", "main").strip() == theirs


def test_a_person_who_commits_meanwhile_makes_it_fail_and_keeps_the_commit(repository: ArchiveRepository) -> None:
    base = add_commit(repository, {"a": b"a"})

    def fill(put: Put) -> None:
        put("c", b"c")
        git(repository.path, "commit", "-q", "--allow-empty", "-m", "theirs")

    with pytest.raises(GitFailed):
        _large(repository, fill, onto=base)

    assert git(repository.path, "log", "--format=%s", "main").split() == ["theirs", "work"]


def test_a_commit_that_git_does_not_take_is_told(repository: ArchiveRepository) -> None:
    with pytest.raises(GitFailed):
        import_commit(repository, _new({"": b"no name"}), onto=None)

    assert repository.tip() is None


@pytest.mark.parametrize("said", ["", f"{'1' * 40}\\nprogress other\\n"])
def test_a_git_that_ends_well_and_did_nothing_is_told_and_the_branch_not_moved(
    repository: ArchiveRepository, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.write_text(
        f"#!/bin/sh\ncase \"$*\" in *fast-import*) printf '{said}'; exec cat >{tmp_path}/heard ;; esac\n"
        f'exec {which("git")} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")

    with pytest.raises(GitFailed, match=r"ended well, but refs/heads/main of .* does not have the commit"):
        import_commit(repository, _new({"a": b"a"}), onto=None)

    assert b"commit refs/agent-mail/import" in (tmp_path / "heard").read_bytes()
    assert b"reset refs/heads/main" not in (tmp_path / "heard").read_bytes()


@pytest.mark.parametrize(
    ("name", "email", "signed"),
    [
        ("Ann", "ann@example.com", b"Ann <ann@example.com> 7 +0000"),
        (" <A\nn\0n> ", "a<b>@c\n", b"Ann <ab@c> 7 +0000"),
        ("<>", "", b"unknown <> 7 +0000"),
    ],
)
def test_a_name_cannot_break_out_of_the_line_it_stands_in(name: str, email: str, signed: bytes) -> None:
    assert Signature(name=name, email=email).at(Micros(7_999_999)) == signed


DATA = bytes(range(256)) * 10_000


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(AttachmentFiles(tmp_path / ATTACHMENTS_FOLDER))


def _put_all(files: Changes) -> Callable[[Put], None]:
    def fill(put: Put) -> None:
        for path, file in files.items():
            put(path, file)

    return fill


@pytest.mark.parametrize("is_large", [False, True])
def test_contents_are_told_piece_by_piece_and_packed_once(
    repository: ArchiveRepository, contents: Contents, tmp_path: Path, is_large: bool
) -> None:
    files: Changes = {"a": keep_content(tmp_path, DATA), "b": keep_content(tmp_path, DATA), "c": b"small"}

    if is_large:
        import_large(repository, _new(), _put_all(files), onto=None, timeout_s=LONG_S, contents=contents)
    else:
        import_commit(repository, _new(files), onto=None, contents=contents)

    blobs = git(repository.path, "ls-tree", "--format=%(objectname)", "main").split()
    assert blobs == [blob_id(DATA), blob_id(DATA), blob_id(b"small")]
    assert git(repository.path, "count-objects", "-v").count("in-pack: 4") == 1
    assert git(repository.path, "fsck", "--strict") == ""


@pytest.mark.parametrize("is_large", [False, True])
def test_what_cannot_be_read_is_left_out_and_told_before_the_branch_moves(
    repository: ArchiveRepository, contents: Contents, tmp_path: Path, is_large: bool
) -> None:
    whole, gone, damaged = (keep_content(tmp_path, data) for data in (DATA, b"gone", b"damaged"))
    content_path(tmp_path, gone).unlink()
    content_path(tmp_path, damaged).write_bytes(b"dAmaged")
    files: Changes = {"gone": gone, "damaged": damaged, "whole": whole, "mail": b"mail"}
    told: list[tuple[set[str], str]] = []

    def lacking(lacked: Mapping[str, StoredContent]) -> None:
        told.append((set(lacked), git(repository.path, "for-each-ref")))

    if is_large:
        fill = _put_all(files)
        import_large(repository, _new(), fill, onto=None, timeout_s=LONG_S, contents=contents, lacking=lacking)
    else:
        import_commit(repository, _new(files), onto=None, contents=contents, lacking=lacking)

    assert told == [({"gone", "damaged"}, "")]
    assert git(repository.path, "ls-tree", "--name-only", "main").split() == ["mail", "whole"]


def test_whoever_cannot_be_told_of_it_gets_no_commit(repository: ArchiveRepository, tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match="plan cannot be read"):
        import_commit(repository, _new({"plan": keep_content(tmp_path, DATA)}), onto=None)

    assert repository.tip() is None


def test_much_to_bring_may_take_longer(
    repository: ArchiveRepository, contents: Contents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit grows with the bytes: with one that does not, nothing of any size could be brought."""
    monkeypatch.setattr(repository, "_timeout_s", 0.0)
    monkeypatch.setattr(fast_import, "_BYTES_A_SECOND", len(DATA) / LONG_S)

    import_commit(repository, _new({"a": keep_content(tmp_path, DATA)}), onto=None, contents=contents)

    assert git(repository.path, "cat-file", "-s", "main:a").strip() == str(len(DATA))
