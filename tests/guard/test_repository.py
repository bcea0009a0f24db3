"""Where the guard stands: repository, project, and paths of one as paths of the other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.guard.git import GitRefused, open_git
from mcp_agent_mail.guard.repository import (
    NAME_KEY,
    PROJECT_KEY,
    Translation,
    find_values,
    look_at_repository,
    name_command,
    own_value,
    project_of,
    translation_for,
    values_for,
)
from tests.guard.in_process import GuardInProcess


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GuardInProcess:
    harness = GuardInProcess(tmp_path, monkeypatch, capsys)
    harness.base("src/app.py", "src/old.py", "README.md")
    harness.write_snapshot()
    return harness


def test_a_project_that_is_a_folder_of_the_repository_knows_its_own_paths_only(harness: GuardInProcess) -> None:
    package = harness.code / "pkg"
    harness.hold("src/app.py")
    harness.write_snapshot(project=package)

    outside = harness.commit("src/app.py", AGENT_MAIL_PROJECT=str(package))
    inside = harness.commit("pkg/src/app.py", AGENT_MAIL_PROJECT=str(package))

    assert outside[0] == 0
    assert "1 path lies outside the project" in outside[1]
    assert inside[0] == 1
    assert "  pkg/src/app.py\n" in inside[1]


def test_a_project_that_holds_several_repositories_knows_them_by_folder(harness: GuardInProcess) -> None:
    harness.hold("code/src/app.py")
    harness.write_snapshot(project=harness.root)

    code, said = harness.commit("src/app.py", AGENT_MAIL_PROJECT=str(harness.root))

    assert code == 1
    assert "  src/app.py\n" in said


def test_the_project_may_be_a_slug(harness: GuardInProcess) -> None:
    harness.hold("src/app.py")
    slug = harness.write_snapshot().name.removesuffix(".leases.json")

    assert harness.commit("src/app.py", AGENT_MAIL_PROJECT=slug)[0] == 1


def test_outside_a_repository_there_is_none_to_look_at(harness: GuardInProcess) -> None:
    with pytest.raises(GitRefused, match="not a git repository"):
        look_at_repository({}, str(harness.root))


def test_the_one_that_git_names_to_a_hook_comes_before_the_one_around(harness: GuardInProcess) -> None:
    other = harness.root / "other"
    harness.init(other)
    environ = {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}

    named = look_at_repository(environ, str(harness.code))

    assert (named.top, named.git_dir, named.place) == (str(other), str(other / ".git"), str(other))


def test_a_bare_repository_has_its_git_directory_for_a_place(harness: GuardInProcess) -> None:
    bare = harness.root / "bare.git"
    harness.git("init", "-q", "--bare", str(bare))

    found = look_at_repository({}, str(bare))

    assert (found.top, found.main_top, found.place) == (None, None, str(bare))


@pytest.mark.parametrize("place", ["linked", "code/trees/linked"])
def test_a_linked_work_tree_means_the_paths_of_the_main_one(harness: GuardInProcess, place: str) -> None:
    linked = harness.root / place
    harness.git("worktree", "add", "-q", str(linked))

    main, other = look_at_repository({}, str(harness.code)), look_at_repository({}, str(linked))

    assert (main.main_top, other.main_top) == (None, str(harness.code))
    assert translation_for(other, f"{harness.code}/pkg") == Translation(inside="pkg/")
    assert [translation_for(other, str(root)) for root in (harness.code, linked)] == [Translation()] * 2


@pytest.mark.parametrize(
    ("project", "meant"),
    [
        ("CODE", Translation()),
        ("a-slug", Translation()),
        ("CODE/pkg/deep", Translation(inside="pkg/deep/")),
        ("ROOT", Translation(above="code/")),
        ("/", None),
        ("CODEX", Translation()),
        ("/another/clone", Translation()),
    ],
)
def test_paths_are_translated_by_where_the_project_lies(
    harness: GuardInProcess, project: str, meant: Translation | None
) -> None:
    repository = look_at_repository({}, str(harness.code))
    named = project.replace("CODE", str(harness.code)).replace("ROOT", str(harness.root))

    found = translation_for(repository, named)

    assert found == (meant or Translation(above=f"{str(harness.code)[1:]}/"))
    assert found.to_repository(found.to_project(f"{found.inside}x") or "") == f"{found.inside}x"


def test_what_lies_outside_a_project_within_the_repository_is_no_path_of_it() -> None:
    assert Translation(inside="pkg/").to_project("src/app.py") is None


def test_a_project_is_what_is_named_or_the_place_and_a_path_is_resolved(harness: GuardInProcess) -> None:
    repository = look_at_repository({}, str(harness.code))
    (harness.root / "link").symlink_to(harness.code)

    assert project_of(repository, None) == str(harness.code)
    assert project_of(repository, f"{harness.root}/link/pkg") == f"{harness.code}/pkg"
    assert project_of(repository, "link") == "link"


def test_what_git_is_told_for_one_command_comes_before_the_repositorys_own_value(harness: GuardInProcess) -> None:
    harness.git("config", "agent-mail.name", " BlueLake ")
    repository = look_at_repository({}, str(harness.code))

    plain = own_value(repository, {}, "agent-mail.name")
    unset = own_value(repository, {}, "agent-mail.project")
    overridden = own_value(repository, {"GIT_CONFIG_COUNT": "1"}, "agent-mail.name")

    assert (plain, unset, overridden) == ("BlueLake", None, None)


def test_values_are_the_command_lines_before_the_repositorys_before_the_users(harness: GuardInProcess) -> None:
    harness.git("config", "--global", "user.name", "Of The User")
    harness.git("config", "--global", "Agent-Mail.Project", "/code")
    harness.git("config", "agent-mail.name", "BlueLake")
    told = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "agent-mail.name", "GIT_CONFIG_VALUE_0": "RedStone"}

    own = find_values(harness.environment(), str(harness.code))
    overridden = find_values(harness.environment(**told), str(harness.code))

    assert own == {"agent-mail.project": "/code", "agent-mail.name": "BlueLake", "user.name": "Grace"}
    assert overridden == {**own, "agent-mail.name": "RedStone"}


def test_a_users_configuration_that_cannot_be_read_is_told(harness: GuardInProcess) -> None:
    (harness.root / "home" / ".gitconfig").write_text("[user\n")
    environ = harness.environment()
    repository = look_at_repository(environ, str(harness.code))

    with (
        open_git(environ, repository.foreign, str(harness.code)) as git,
        pytest.raises(GitRefused, match=r"^git config: fatal: bad config line"),
    ):
        values_for(git)


def test_the_line_that_names_the_committer_works_with_linked_work_trees_and_in_one_alone(
    harness: GuardInProcess,
) -> None:
    linked = harness.root / "linked"
    harness.git("worktree", "add", "-q", str(linked))

    for folder, name in ((harness.code, "BlueLake"), (linked, "RedStone")):
        done = harness.run("sh", "-c", name_command(name), cwd=folder)
        assert done.returncode == 0, done.stderr

    names = [own_value(look_at_repository({}, str(folder)), {}, "agent-mail.name") for folder in (harness.code, linked)]
    assert names == ["BlueLake", "RedStone"]


def test_what_another_user_configures_is_read_where_git_itself_works_alone(
    harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git refuses to work in such a repository, unless its user has named it."""
    for line in ("agent-mail.project /victim", "agent-mail.name RedStone", "user.name Grace"):
        harness.git("config", *line.split())
    ours = look_at_repository({}, str(harness.code))
    config = harness.code / ".git" / "config"
    if os.geteuid() == 0:
        os.chown(config, 4711, 4711)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
    theirs, gits = (look_at_repository({}, str(harness.code), is_gits=is_gits) for is_gits in (False, True))

    keys = (PROJECT_KEY, NAME_KEY, "user.name")
    assert [own_value(ours, {}, key) for key in keys] == ["/victim", "RedStone", "Grace"]
    assert [own_value(theirs, {}, key) for key in keys] == [None, None, None]
    assert [own_value(gits, {}, key) for key in keys] == ["/victim", "RedStone", "Grace"]
    assert (theirs.top, theirs.foreign.hash_name) == (ours.top, ours.foreign.hash_name)


def test_another_users_repository_puts_its_work_tree_nowhere_else(
    harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.git("config", "core.worktree", str(harness.root))
    config = harness.code / ".git" / "config"
    if os.geteuid() == 0:
        os.chown(config, 4711, 4711)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)

    assert look_at_repository({}, str(harness.code)).top == str(harness.code)
