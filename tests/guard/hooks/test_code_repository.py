"""A code repository as the installation sees it: which ones it works in, and what is set in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.guard.hooks import code_repository
from mcp_agent_mail.guard.hooks.code_repository import (
    InstallationRunning,
    NoCodeRepository,
    find_code_repository,
    only_one,
)
from tests.guard.code_repository import Code


def _give_away(code: Code) -> int:
    """To a user who is not root; who that is."""
    owner = os.getuid() or 1000
    for place in (code.top, code.top / ".git"):
        os.chown(place, owner, -1)
    return owner


def test_what_is_no_work_tree_is_refused_with_the_reason(code: Code, tmp_path: Path) -> None:
    bare = code.clone_target()
    reasons = {
        Path("app"): "is a relative path",
        tmp_path / "nowhere": "is no folder on this machine",
        tmp_path: "is in no Git repository",
        bare: "is a bare repository",
        code.top / ".git": "is the inside of a repository",
    }

    for path, reason in reasons.items():
        with pytest.raises(NoCodeRepository, match=reason):
            find_code_repository(path)


def test_a_repository_of_another_user_is_refused(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: code.top.stat().st_uid + 1)

    with pytest.raises(NoCodeRepository, match="belongs to another user"):
        find_code_repository(code.top)


def test_one_of_another_user_that_ours_has_named_is_worked_in(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: code.top.stat().st_uid + 1)
    code.git("config", "--global", "--add", "safe.directory", str(code.top))

    assert find_code_repository(code.top).top == code.top


def test_for_root_the_repository_of_who_became_root_is_ones_own(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = _give_away(code)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(NoCodeRepository, match="belongs to another user"):
        find_code_repository(code.top)

    monkeypatch.setenv("SUDO_UID", str(owner))

    assert find_code_repository(code.top).top == code.top


def test_for_anybody_else_that_variable_says_nothing(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = _give_away(code)
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    monkeypatch.setenv("SUDO_UID", str(owner))

    with pytest.raises(NoCodeRepository, match="belongs to another user"):
        find_code_repository(code.top)


def _link(planted: Path, git_dir: Path) -> None:
    planted.symlink_to(git_dir)


def _file(planted: Path, git_dir: Path) -> None:
    planted.write_text(f"gitdir: {git_dir}\n")


def _linked_tree(planted: Path, git_dir: Path) -> None:
    state = planted.parent / "state"
    state.mkdir()
    (state / "HEAD").write_text("ref: refs/heads/main\n")
    (state / "commondir").write_text(f"{git_dir}\n")
    (state / "gitdir").write_text(f"{planted}\n")
    planted.write_text(f"gitdir: {state}\n")


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        (_link, "is a symbolic link"),
        (_file, "does not name this work tree"),
        (_linked_tree, "does not hold"),
    ],
)
def test_a_work_tree_that_leads_to_the_git_directory_of_another_is_refused(
    plant: Callable[[Path, Path], None], reason: str, code: Code
) -> None:
    planted = code.top.parent / "planted"
    planted.mkdir()
    plant(planted / ".git", code.top / ".git")

    with pytest.raises(NoCodeRepository, match=reason):
        find_code_repository(planted)


def test_a_broken_repository_is_refused_with_what_is_wrong(code: Code) -> None:
    (code.top / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 9\n")

    with pytest.raises(NoCodeRepository, match=r"cannot be worked with \(.*of a kind that is not read yet"):
        find_code_repository(code.top)


def test_every_scope_tells_its_folder_of_hooks_and_the_last_one_counts(code: Code) -> None:
    code.git("config", "--global", "core.hooksPath", "~/of user")
    code.git("config", "extensions.worktreeConfig", "true")
    code.git("config", "core.hooksPath", "~/of repository")
    code.git("config", "--worktree", "core.hooksPath", "of-tree")

    assert find_code_repository(code.top).hooks_paths() == [
        ("global", str(code.home / "of user")),
        ("local", str(code.home / "of repository")),
        ("worktree", "of-tree"),
    ]


def test_of_includes_only_ours_is_followed_and_the_others_are_named(code: Code) -> None:
    place = code.top / ".git"
    (place / "agent-mail").mkdir()
    (place / "agent-mail" / "hooks.config").write_text("[core]\n\thooksPath = /ours\n")
    (place / "theirs").write_text("[core]\n\thooksPath = /theirs\n")
    code.git("config", f"includeIf.gitdir:{place}.path", "agent-mail/hooks.config")
    code.git("config", "includeIf.gitdir:/where/it/was.path", "agent-mail/hooks.config")
    code.git("config", "include.path", "theirs")

    repository = find_code_repository(code.top)

    assert repository.hooks_paths() == [("local", "/ours")]
    assert repository.includes_of_others() == ["include.path"]
    assert repository.includes_of_ours() == [
        f"includeif.gitdir:{place}.path",
        "includeif.gitdir:/where/it/was.path",
    ]


def test_a_value_is_the_last_one_that_is_set_and_the_users_where_the_repository_says_nothing(code: Code) -> None:
    repository = find_code_repository(code.top)
    code.git("config", "--global", "agent-mail.name", "BlueLake")
    nothing = repository.config("agent-mail.name"), repository.user_config("agent-mail.none")
    of_user = repository.user_config("agent-mail.name")
    code.git("config", "--add", "agent-mail.name", "RedStone")
    code.git("config", "--add", "agent-mail.name", "GreenFox")

    assert (nothing, of_user) == ((None, None), "BlueLake")
    assert (repository.config("agent-mail.Name"), repository.user_config("agent-mail.name")) == ("GreenFox", "GreenFox")


def test_one_installation_at_a_time(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_repository, "_LOCK_TIMEOUT_S", 0.0)
    repository = find_code_repository(code.top)

    with (
        only_one(repository),
        pytest.raises(InstallationRunning, match="Another process is installing"),
        only_one(repository),
    ):
        pass

    with only_one(repository) as git_dir:
        assert git_dir.root.path == code.top / ".git"
