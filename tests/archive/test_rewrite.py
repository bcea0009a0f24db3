"""All files of an archive as they should be now, and the history of another one joined to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.archive.contents import Contents
from mcp_agent_mail.archive.fast_import import Put
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.rewrite import Rewrite, bring_history, forget_joining
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.domain.archive_format.layout import Changes
from tests.archive.one_archive import add_commit, begin
from tests.archive_harness import git
from tests.stored_contents import keep_content


@pytest.fixture
def repository(path: Path) -> ArchiveRepository:
    repository = begin(path)
    files = {
        "archive.json": b"{}",
        "messages/a.md": b"as it is",
        "messages/b.md": b"old",
        "messages/theirs.md": b"a person's",
        "contacts/Red/Blue.json": b"gone",
        "contacts/Red/Fox.json": b"later",
    }
    add_commit(repository, files)
    return repository


def _render(put: Put) -> None:
    put("archive.json", b"{}")
    put("messages/a.md", b"as it is")
    mail = b"new"
    put("messages/b.md", mail)
    put("agents/Red/inbox/b.md", mail)
    put("contacts/Red/Fox.json", None)


def _filled(rewrite: Rewrite) -> Changes:
    found: Changes = {}
    rewrite.fill(lambda path, content: found.update({path: content}))
    return found


def test_only_what_differs_is_put_and_of_links_what_is_left_over_goes(repository: ArchiveRepository) -> None:
    assert _filled(Rewrite(repository, _render, is_empty=False)) == {
        "messages/b.md": b"new",
        "agents/Red/inbox/b.md": b"new",
        "contacts/Red/Blue.json": None,
    }


def test_where_nothing_is_there_yet_all_is_put(path: Path) -> None:
    assert _filled(Rewrite(begin(path), _render, is_empty=True)) == {
        "archive.json": b"{}",
        "messages/a.md": b"as it is",
        "messages/b.md": b"new",
        "agents/Red/inbox/b.md": b"new",
    }


def test_people_are_shown_the_same_and_copies_are_one_file(repository: ArchiveRepository) -> None:
    git(repository.path, "reset", "-q", "--hard")
    tree = WorkTree(repository.path, repository.git_path / "agent-mail", lambda _: True)

    def render(put: Put) -> None:
        _render(put)
        put("messages/last.md", b"last")

    Rewrite(repository, render, is_empty=False).show(tree)

    root = repository.path
    assert (root / "messages/b.md").read_bytes() == b"new"
    assert (root / "messages/b.md").samefile(root / "agents/Red/inbox/b.md")
    assert (root / "messages/last.md").read_bytes() == b"last"
    assert (root / "messages/theirs.md").read_bytes() == b"a person's"
    assert [path.name for path in (root / "contacts/Red").iterdir()] == ["Fox.json"]


def test_where_nothing_differs_nothing_is_shown_anew(repository: ArchiveRepository, tmp_path: Path) -> None:
    def render(put: Put) -> None:
        put("messages/a.md", b"as it is")
        for name in ("Blue", "Fox"):
            put(f"contacts/Red/{name}.json", None)

    Rewrite(repository, render, is_empty=False).show(WorkTree(tmp_path / "nowhere", tmp_path, lambda _: True))

    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("has_a_commit", [False, True])
def test_all_that_another_archive_has_is_brought_and_kept_until_it_is_joined(
    repository: ArchiveRepository, tmp_path: Path, has_a_commit: bool
) -> None:
    new = begin(tmp_path / "new")
    if has_a_commit:
        add_commit(new, {"own": b"own"})

    tip = bring_history(new, repository.path)

    assert tip == repository.tip()
    assert git(new.path, "rev-parse", "refs/agent-mail/joining").strip() == tip
    assert git(new.path, "cat-file", "-p", f"{tip}:messages/b.md") == "old"
    assert git(new.path, "fsck", "--strict") == ""
    forget_joining(new)
    assert git(new.path, "for-each-ref", "refs/agent-mail") == ""


def test_an_archive_without_a_commit_has_nothing_to_bring(repository: ArchiveRepository, tmp_path: Path) -> None:
    begin(tmp_path / "empty")

    with pytest.raises(GitFailed, match="has no commit on refs/heads/main"):
        bring_history(repository, tmp_path / "empty")


def test_contents_are_put_once_where_they_are_new_and_left_over_ones_go(path: Path, tmp_path: Path) -> None:
    known, new, lacked, over = (keep_content(tmp_path, data) for data in (b"known", b"new", b"lacked", b"over"))
    pending = keep_content(tmp_path, b"pending")
    repository = begin(path)
    add_commit(
        repository,
        {known.path: b"known", over.path: b"over", pending.path: b"pending", "attachments/ab/abc.txt": b"a person's"},
    )

    def render(put: Put) -> None:
        for content in (known, new, new, lacked):
            put(content.path, content)
        put(pending.path, None)

    changes = Rewrite(repository, render, is_empty=False)
    put: list[tuple[str, object]] = []
    changes.fill(lambda name, content: put.append((name, content)))
    tree = WorkTree(repository.path, repository.git_path, lambda _: True)
    changes.show(tree, Contents(AttachmentFiles(tmp_path / ATTACHMENTS_FOLDER)), {lacked.path})

    assert put == [(new.path, new), (lacked.path, lacked), (over.path, None)]
    assert (path / new.path).read_bytes() == b"new"
    assert not (path / lacked.path).exists()
