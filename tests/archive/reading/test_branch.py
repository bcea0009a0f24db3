from __future__ import annotations

import os
import shutil
import subprocess
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.archive.reading.branch import Branch
from mcp_agent_mail.archive.repository import ArchiveRepository, GitContentTooLarge
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.git.process import GitFailed
from tests.archive.one_archive import add_commit
from tests.archive_harness import open_archive_harness

BEGIN = 1_800_000_000
WHO = {f"GIT_{role}_{what}": "one@x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with open_archive_harness(tmp_path_factory.mktemp("store")) as harness:
        app = harness.add_project("/code/app")
        blue, red = harness.add_agent(app, "BlueLake"), harness.add_agent(app, "RedStone")
        harness.archive()
        harness.clock.step(60)
        message = harness.send(blue, [red])
        harness.read(app, red, message)
        harness.archive()
        yield harness.path(app)


@pytest.fixture
def branch(archive: Path) -> Branch:
    return Branch(archive)


def test_the_newest_commit_is_found_also_as_of_a_time(branch: Branch) -> None:
    newest, first = branch.newest(), branch.newest(Micros((BEGIN + 59) * SECOND))

    assert newest is not None
    assert first is not None
    assert newest.last_seq > first.last_seq
    assert branch.newest(Micros((BEGIN - 1) * SECOND)) is None


def test_no_commit_of_an_adopted_archive_is_the_newest_of_a_time(archive: Path, tmp_path: Path) -> None:
    place = tmp_path / "archive"
    shutil.copytree(archive, place)

    def commit(seq: int, seconds: int, *parents: str) -> str:
        command = ["git", "commit-tree", "main^{tree}", "-m", f"said\n\nOutbox-Seq: {seq}"]
        command += [word for parent in parents for word in ("-p", parent)]
        dated = {"GIT_COMMITTER_DATE": f"@{BEGIN + seconds} +0000"}
        said = subprocess.run(command, cwd=place, env=os.environ | WHO | dated, capture_output=True, check=True)
        return said.stdout.decode().strip()

    joined = commit(100, 120, "main", commit(99, 30))
    subprocess.run(["git", "update-ref", "refs/heads/main", joined], cwd=place, check=True)

    then, before = (Branch(one).newest(Micros((BEGIN + 50) * SECOND)) for one in (place, archive))
    newest = Branch(place).newest()

    assert then == before is not None
    assert newest is not None
    assert newest.hexsha == joined


def test_every_file_comes_with_the_name_of_its_content(branch: Branch) -> None:
    newest = branch.newest()
    assert newest is not None

    files = list(branch.files(newest.hexsha))

    assert [file.path for file in files] == sorted(file.path for file in files)
    (profile,) = [file for file in files if file.path == "agents/BlueLake/profile.json"]
    with branch.reader() as read:
        assert read(profile.blob, 1_000) == branch.file(newest.hexsha, profile.path, 1_000)
        assert len(read(profile.blob, 1_000)) == profile.size
    assert b"".join(branch.tell(profile.blob)) == branch.file(newest.hexsha, profile.path, 1_000)


def test_commits_come_oldest_first_with_what_each_has_changed(branch: Branch, archive: Path) -> None:
    newest = branch.newest()
    assert newest is not None

    first, second = branch.commits(newest.hexsha)

    assert (first.parents, second.parents) == ((), (first.hexsha,))
    assert (second.hexsha, second.last_seq, second.agents) == (newest.hexsha, newest.last_seq, ("BlueLake", "RedStone"))
    assert second.subject in second.told
    assert first.added == frozenset(first.changed)
    assert {path.split("/")[0] for path in second.changed} == {"agents", "messages", "receipts"}
    named = subprocess.run(
        ["git", "-C", str(archive), "show", "--format=", "--name-only", newest.hexsha],
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(second.changed) == sorted(named.stdout.split())


def test_a_content_that_git_has_not_is_a_failure(branch: Branch) -> None:
    with pytest.raises(GitFailed, match="does not have"), branch.reader() as read:
        read("0" * 40, 10)


def test_a_content_beyond_its_bound_is_refused_unread_and_the_next_one_is_read(archive: Path, tmp_path: Path) -> None:
    shutil.copytree(archive, tmp_path / "archive")
    repository = ArchiveRepository(tmp_path / "archive")
    commit = add_commit(repository, {"large": b" " * (64 << 20), "small": b"some text"})
    branch = Branch(repository.path)
    blobs = {file.path: file.blob for file in branch.files(commit)}
    tracemalloc.start()
    try:
        with branch.reader() as read:
            for _ in range(2):
                with pytest.raises(GitContentTooLarge, match=r"67,108,864 bytes.* at most 9 "):
                    read(blobs["large"], 9)
                assert read(blobs["small"], 9) == b"some text"
        with pytest.raises(GitContentTooLarge):
            branch.file(commit, "large", 9)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 8 << 20
