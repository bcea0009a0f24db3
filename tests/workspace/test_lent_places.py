"""What is known as lent and as never lent, by its path and by what it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.workspace.lent_places import LentPlaces, LentRoot, find_folder, folder_at, is_made_up


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for folder in ("home", "app", "store/projects/app/agents", "backups"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def places(base: Path, *workspaces: Path) -> LentPlaces:
    return LentPlaces(
        workspaces=map(find_folder, workspaces or (base / "app",)),
        archive=folder_at(base / "store" / "projects" / "app"),
        never=(base / "store",),
        apart=(base / "backups",),
        may_be_anywhere=False,
    )


def root(path: Path) -> LentRoot:
    return LentRoot(path.parts[1:])


def test_each_folder_is_looked_into_once_and_the_archive_last(base: Path) -> None:
    (base / "alias").symlink_to(base / "app")
    (base / "sub").mkdir()
    archive = base / "store" / "projects" / "app"

    found = places(base, base / "alias", base / "app", archive, base / "sub")

    assert found.roots == [root(base / "app"), root(base / "sub"), root(archive)]
    assert found.root_at((base / "alias").parts[1:]) == found.root_at((base / "app").parts[1:]) == root(base / "app")
    assert found.root_at(base.parts[1:]) is None
    assert found.withheld == []


@pytest.mark.parametrize("name", [".", "home", "store", "alias"])
def test_what_holds_the_store_or_the_home_is_withheld(base: Path, name: str) -> None:
    (base / "alias").symlink_to(base)

    found = places(base, base / name, base / "app")

    assert found.withheld == [base / name]
    assert found.roots[0] == root(base / "app")
    assert found.is_withheld((base / name).stat())
    assert not found.is_withheld((base / "app").stat())


def test_the_home_that_the_system_knows_counts_beside_the_environments(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME")
    systems = Path.home()
    monkeypatch.setenv("HOME", str(base / "home"))

    assert places(base, systems, base / "home").withheld == [systems, base / "home"]


@pytest.mark.parametrize("name", [".git", ".GIT", ".Git", ".g\u200bit", "\ufeff.git"])
def test_a_git_directory_is_one_in_any_letter_case(base: Path, name: str) -> None:
    assert places(base).is_unlent_name(("app",), name, in_archive=False)


@pytest.mark.parametrize(
    "name", ["agents", "AGENTS", "messages", "Contacts", "archive.json", "attachments", ".agent-mail-new1"]
)
def test_what_the_server_writes_is_never_lent_of_an_archive_and_is_anybodys_elsewhere(base: Path, name: str) -> None:
    found = places(base)

    assert found.is_unlent_name(("app",), name, in_archive=True)
    assert not found.is_unlent_name(("app",), name, in_archive=False)


def test_an_archive_is_known_by_its_name_in_a_workspace_and_by_what_it_is(base: Path) -> None:
    found = places(base)
    other, archive = (base / "app").stat(), (base / "store/projects/app").stat()

    assert [found.is_archive(name, other) for name in (".mcp-mail", ".MCP-Mail", "mcp-mail")] == [True, True, False]
    assert found.is_archive("any", archive)
    assert found.is_unlent((base / "store/projects/app/agents").stat())


def test_what_lies_apart_is_known_before_it_is_there(base: Path) -> None:
    (base / "backups").rmdir()
    found = places(base)

    assert found.is_unlent_name(base.parts[1:], "backups", in_archive=False)
    assert not found.is_unlent_name((*base.parts[1:], "app"), "backups", in_archive=False)
    assert found.is_unlent_name((), "proc", in_archive=False)


def test_a_file_of_the_store_is_known_by_a_second_name(base: Path) -> None:
    (base / "store" / "operator.token").touch()
    (base / "app" / "mine").touch()
    os.link(base / "store" / "operator.token", base / "app" / "token")
    os.link(base / "app" / "mine", base / "app" / "second")
    found = places(base)

    assert [found.is_unlent_file((base / "app" / name).stat()) for name in ("token", "second")] == [True, False]


def test_what_the_kernel_makes_up_is_told_from_what_a_disk_holds(base: Path) -> None:
    (base / "file").touch()

    assert not is_made_up((base / "file").stat())
    if Path("/proc/self/mountinfo").exists():
        assert is_made_up(Path("/proc/self/environ").stat())
