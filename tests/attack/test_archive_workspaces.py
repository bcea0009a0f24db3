"""Who can write to a project's directory: a clone that brings things along, an agent that works there.

With ARCHIVE_LOCATION=workspace the archive's files lie in that directory.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER
from tests.archive_harness import ArchiveHarness, fill, git, write


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that says that it was run."""
    program = tmp_path / "trap"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


def has_run(trap: Path) -> bool:
    return trap.with_name("ran").exists()


def make_promisor(repository: Path, trap: Path) -> None:
    """What is missing is to be fetched, by a program that the repository names."""
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://nowhere.invalid/repository",
        "core.sshCommand": str(trap),
    }.items():
        git(repository, "config", name, value)


def drop_object(repository: Path, name: str) -> None:
    (repository / ".git" / "objects" / name[:2] / name[2:]).unlink()


def mail_in(archive: Path) -> int:
    return len(list(archive.glob("messages/*/*/*/*.md")))


def test_a_planted_repository_fetches_nothing(harness: ArchiveHarness, code: Path, trap: Path) -> None:
    planted = code / ".mcp-mail"
    planted.mkdir()
    git(planted, "init", "-q", "-b", "main")
    git(planted, "commit", "-q", "--allow-empty", "-m", "Theirs")
    drop_object(planted, git(planted, "rev-parse", "main").strip())
    make_promisor(planted, trap)
    fill(harness, code)

    left = harness.archive()

    assert not has_run(trap)
    assert left > 0
    assert "no archive of this store" in harness.failures[0].message
    assert f"Move {planted} away" in harness.failures[0].hint


def test_the_repository_around_an_archive_fetches_nothing(harness: ArchiveHarness, code: Path, trap: Path) -> None:
    git(code, "sparse-checkout", "set", "--cone", "--sparse-index")
    drop_object(code, git(code, "rev-parse", "HEAD:other").strip())
    make_promisor(code, trap)
    project = fill(harness, code)

    left = harness.archive()

    assert not has_run(trap)
    assert left == 0
    assert mail_in(code / ".mcp-mail") == 1
    assert ".mcp-mail/" in (code / ".git/info/exclude").read_text().splitlines()
    write(harness, project)
    assert harness.archive() == 0
    assert not has_run(trap)


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("filter.trap.clean", "filter=trap"),
        ("filter.trap.smudge", "filter=trap"),
        ("filter.trap.process", "filter=trap"),
        ("diff.trap.textconv", "diff=trap"),
        ("diff.trap.command", "diff=trap"),
        ("core.fsmonitor", ""),
        ("core.sshCommand", ""),
        ("core.pager", ""),
        ("core.editor", ""),
        ("core.gitProxy", ""),
        ("core.askPass", ""),
        ("core.alternateRefsCommand", ""),
        ("credential.helper", ""),
        ("diff.external", ""),
        ("gpg.program", ""),
        ("gpg.ssh.program", ""),
        ("merge.trap.driver", "merge=trap"),
        ("trailer.see.command", ""),
        ("uploadpack.packObjectsHook", ""),
        ("alias.update-index", ""),
        ("pager.log", ""),
        ("include.path", ""),
        ("core.hooksPath", ""),
    ],
)
def test_what_is_put_into_the_git_directory_in_the_workspace_never_runs(
    harness: ArchiveHarness, code: Path, trap: Path, name: str, attribute: str
) -> None:
    project = fill(harness, code)
    harness.archive()
    work_tree = code / ".mcp-mail"
    if (work_tree / ".git").is_file():
        (work_tree / ".git").unlink()
        git(work_tree, "init", "-q", "-b", "main")
    planted = work_tree / ".git"
    (planted / "info").mkdir(exist_ok=True)
    (planted / "info" / "attributes").write_text(f"* {attribute}\n")
    plant_setting(work_tree, trap, name)
    for letter in work_tree.glob("messages/*/*/*/*.md"):
        # To Git it looks changed, so that it is read through the filter.
        os.utime(letter, (1, 1))
    write(harness, project)

    harness.archive()

    assert harness.verify().findings == ()
    assert not has_run(trap)
    assert mail_in(work_tree) == 2


def plant_setting(repository: Path, trap: Path, name: str) -> None:
    if name == "core.hooksPath":
        hooks = trap.with_name("hooks")
        hooks.mkdir()
        for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "post-rewrite"):
            shutil.copy2(trap, hooks / hook)
        git(repository, "config", name, str(hooks))
    elif name == "include.path":
        included = trap.with_name("included")
        included.write_text(f'[core]\n\tfsmonitor = "{trap}"\n[filter "trap"]\n\tclean = "{trap}"\n')
        git(repository, "config", name, str(included))
        (repository / ".git" / "info" / "attributes").write_text("* filter=trap\n")
    else:
        git(repository, "config", name, f"!{trap}" if name.startswith("alias.") else str(trap))


@pytest.mark.parametrize("folder", ["messages", "agents", "agents/RedStone", "agents/RedStone/inbox"])
def test_a_folder_replaced_by_a_link_leads_nothing_outside(
    harness: ArchiveHarness, code: Path, outside: Path, folder: str
) -> None:
    project = fill(harness, code)
    harness.archive()
    replaced = code / ".mcp-mail" / folder
    replaced.rename(code / "before")
    replaced.symlink_to(outside)
    write(harness, project)

    harness.archive()

    assert list(outside.rglob("*")) == []
    assert any("cannot be written: something else stands there" in failure.message for failure in harness.failures)
    assert any("away; the file is then written by itself" in failure.hint for failure in harness.failures)
    replaced.unlink()
    (code / "before").rename(replaced)
    write(harness, project)
    assert harness.archive() == 0
    assert harness.verify().findings == ()
    assert git(code / ".mcp-mail", "status", "--porcelain") == ""


def test_the_work_tree_replaced_by_a_link_is_told_and_not_followed(
    harness: ArchiveHarness, code: Path, outside: Path
) -> None:
    project = fill(harness, code)
    harness.archive()
    work_tree = code / ".mcp-mail"
    work_tree.rename(code / "before")
    work_tree.symlink_to(outside)
    write(harness, project)

    harness.archive()

    assert list(outside.rglob("*")) == []
    assert f"{work_tree} is a link or a file" in harness.failures[0].message
    assert f"Move {work_tree} away" in harness.failures[0].hint
    work_tree.unlink()
    assert harness.archive() == 0
    assert mail_in(work_tree) == 2


def with_fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def with_link(path: Path, outside: Path) -> None:
    (outside / "theirs").write_text("theirs")
    path.symlink_to(outside / "theirs")


def with_second_name(path: Path, outside: Path) -> None:
    (outside / "theirs").write_text("theirs")
    os.link(outside / "theirs", path)


InTheWay = Callable[[Path, Path], None]


@pytest.mark.parametrize("put", [with_fifo, with_link, with_second_name])
def test_what_stands_in_place_of_a_file_is_neither_waited_for_nor_written_through(
    harness: ArchiveHarness, code: Path, outside: Path, put: InTheWay
) -> None:
    project = fill(harness, code)
    harness.archive()
    profile = code / ".mcp-mail" / "agents" / "BlueLake" / "profile.json"
    profile.unlink()
    put(profile, outside)
    blue = harness.tx.agents.find_by_name(project.id, "BlueLake")
    assert blue is not None

    seen = harness.verify()
    harness.describe(project, blue, "new task")
    left = harness.archive()

    assert [finding.path for finding in seen.findings] == ["agents/BlueLake/profile.json"]
    assert left == 0
    assert profile.is_file()
    assert not profile.is_symlink()
    assert "new task" in profile.read_text()
    assert [path.read_text() for path in outside.iterdir()] in ([], ["theirs"])


@pytest.mark.parametrize("put", [with_fifo, with_link])
@pytest.mark.parametrize("where", [".git/info/exclude", ".git/info", ".git/index", ".git"])
def test_what_stands_in_the_way_in_the_code_repository_is_refused_by_name(
    harness: ArchiveHarness, code: Path, outside: Path, where: str, put: InTheWay
) -> None:
    place = code / where
    if place.is_dir():
        place.rename(outside / "moved")
    else:
        place.unlink()
    if put is with_link and (outside / "moved").exists():
        place.symlink_to(outside / "moved")
    else:
        put(place, outside)
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    fill(harness, code)

    harness.archive()

    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before
    assert str(place) in harness.failures[0].message
    assert "ARCHIVE_LOCATION=store" in harness.failures[0].hint


def test_a_file_with_a_second_name_outside_is_not_edited_in_place(
    harness: ArchiveHarness, code: Path, outside: Path
) -> None:
    (code / ".git/info/exclude").unlink()
    with_second_name(code / ".git/info/exclude", outside)
    fill(harness, code)

    harness.archive()

    assert (outside / "theirs").read_text() == "theirs"
    assert (code / ".git/info/exclude").read_text() == "theirs\n.mcp-mail/\n"


def test_a_git_file_that_names_another_repository_writes_nothing_there(
    harness: ArchiveHarness, code: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / ".git").write_text(f"gitdir: {code}/.git\n")
    before = (code / ".git/info/exclude").read_text()
    fill(harness, clone)

    assert harness.archive() == 0

    assert (code / ".git/info/exclude").read_text() == before
    assert mail_in(clone / ".mcp-mail") == 1


def test_a_submodule_is_kept_out_of_its_own_status(harness: ArchiveHarness, code: Path, tmp_path: Path) -> None:
    above = tmp_path / "above"
    above.mkdir()
    git(above, "init", "-q")
    git(above, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(code), "inner")
    fill(harness, above / "inner")

    assert harness.archive() == 0

    assert git(above / "inner", "status", "--porcelain") == ""
    assert git(above, "status", "--porcelain", "inner").strip() == "A  inner"


def test_the_store_keeps_no_setting_but_names_and_remotes(harness: ArchiveHarness, code: Path, trap: Path) -> None:
    harness.in_workspace = False
    project = fill(harness, code)
    harness.archive()
    place = harness.root / PROJECTS_FOLDER / project.slug
    git(place, "config", "user.name", "Ann")
    git(place, "remote", "add", "backup", "ssh://backup.example/mail")
    write(harness, project)
    harness.archive()
    kept = (place / ".git/config").read_text()

    git(place, "config", "filter.trap.clean", str(trap))
    (place / ".git/info/attributes").write_text("* filter=trap\n")
    write(harness, project)
    harness.archive()

    assert "Ann" in kept
    assert "backup.example" in kept
    assert not has_run(trap)
    assert "trap" not in (place / ".git/config").read_text()
    assert "trap" in (place / ".git/config.set-aside").read_text()
    assert harness.verify().findings == ()


@pytest.mark.parametrize("name", ["commondir", "objects/info/alternates"])
def test_an_archive_that_leads_to_another_repository_is_refused(harness: ArchiveHarness, code: Path, name: str) -> None:
    harness.in_workspace = False
    project = fill(harness, code)
    harness.archive()
    place = harness.root / PROJECTS_FOLDER / project.slug
    (place / ".git" / name).write_text(f"{code}/.git/objects\n")
    write(harness, project)

    assert harness.archive() == 1

    assert str(place / ".git" / name) in harness.failures[0].message
    assert "Move" in harness.failures[0].hint


def test_a_gitfile_in_the_store_is_refused(harness: ArchiveHarness, code: Path) -> None:
    harness.in_workspace = False
    project = fill(harness, code)
    harness.archive()
    place = harness.root / PROJECTS_FOLDER / project.slug
    (place / ".git").rename(code / "moved")
    (place / ".git").symlink_to(code / "moved")
    write(harness, project)

    assert harness.archive() == 1

    assert f"{place / '.git'} is a link" in harness.failures[0].message


def test_replaced_objects_are_not_what_git_shows(harness: ArchiveHarness, code: Path) -> None:
    harness.in_workspace = False
    project = fill(harness, code)
    harness.archive()
    place = harness.root / PROJECTS_FOLDER / project.slug
    forged = git(place, "hash-object", "-w", str(code / "main.py")).strip()
    git(place, "replace", git(place, "rev-parse", "main:archive.json").strip(), forged)
    write(harness, project)

    assert harness.archive() == 0

    assert harness.failures == []
