"""How much Git an archive takes, and for how much mail."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.ownership import ArchiveNotMoved
from mcp_agent_mail.archive.sizes import measure
from tests.archive.one_archive import add_commit, begin
from tests.archive_harness import git


def test_where_there_is_no_archive_or_no_commit_there_is_nothing_to_measure(tmp_path: Path) -> None:
    nothing = measure(tmp_path / "app")
    begin(tmp_path / "app")

    assert (nothing, measure(tmp_path / "app")) == (None, None)


def test_one_that_lies_in_its_project_whole_is_refused(tmp_path: Path) -> None:
    begin(tmp_path / "there")
    (tmp_path / "app").symlink_to("there")

    with pytest.raises(ArchiveNotMoved):
        measure(tmp_path / "app")


def test_a_message_counts_once_however_many_copies_it_has(tmp_path: Path) -> None:
    repository = begin(tmp_path / "app")
    add_commit(repository, {"archive.json": b"{}"})
    before = measure(tmp_path / "app")
    copies = ("messages/2027/01/x__3.md", "agents/Red/inbox/2027/01/x__3.md", "agents/Blue/outbox/2027/01/x__3.md")
    files = dict.fromkeys((*copies, "messages/2027/01/y__5000.md", f"messages/z__{2**31}.md"), b"mail")
    add_commit(repository, {**files, "notes/w__4.md": b"somebody's", "agents/Red/inbox/x__4.txt": b""})

    size = measure(tmp_path / "app")

    assert before is not None
    assert (before.messages, before.bytes_per_message) == (0, None)
    assert size is not None
    assert (size.messages, size.files, size.commits, size.packs) == (2, 8, 2, 2)
    assert size.git_bytes == sum(path.stat().st_size for path in (tmp_path / "app/.git").rglob("*") if path.is_file())
    assert size.bytes_per_message == size.git_bytes // 2


def test_the_index_is_measured_where_there_is_one(tmp_path: Path) -> None:
    add_commit(begin(tmp_path / "app"), {"archive.json": b"{}"})
    before = measure(tmp_path / "app")
    git(tmp_path / "app", "reset", "-q", "--hard")

    size = measure(tmp_path / "app")

    assert before is not None
    assert size is not None
    assert (before.index_bytes, size.index_bytes) == (0, (tmp_path / "app/.git/index").stat().st_size)
