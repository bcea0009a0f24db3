"""Where core.hooksPath leads elsewhere, the guard stands in a folder of its own and forwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.guard.hooks.chain import Change, HookInTheWay
from mcp_agent_mail.guard.hooks.status import HookState, look_at_guard
from tests.guard.code_repository import FOREIGN, Code

_SAY = '#!/bin/sh\necho "$0 $*" >> "$RECORDS/former"\nexit "${FORMER_ANSWER:-0}"\n'
_HUSKY_HOOKS = ("pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push")


def husky_prepares(code: Code) -> None:
    """What `husky` does at every `npm install`."""
    folder = code.top / ".husky" / "_"
    folder.mkdir(parents=True, exist_ok=True)
    code.git("config", "core.hooksPath", ".husky/_")
    (folder / ".gitignore").write_text("*")
    shutil.copyfile(FOREIGN / "husky-h", folder / "h")
    for hook in _HUSKY_HOOKS:
        shutil.copyfile(FOREIGN / "husky-stub", folder / hook)
        (folder / hook).chmod(0o755)


@pytest.fixture
def husky(code: Code) -> Code:
    (code.top / ".husky").mkdir()
    for hook in ("pre-commit", "commit-msg", "pre-push"):
        (code.top / ".husky" / hook).write_text(f'echo "{hook} $*" >> "$RECORDS/former"\n')
    husky_prepares(code)
    code.git("add", ".husky")
    return code


def _files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- husky ------------------------------------------------------------------------------------------------------------


def test_husky_runs_after_the_guard_and_its_files_stay_as_they_are(husky: Code) -> None:
    before, config = _files(husky.top / ".husky"), husky.config_bytes()

    installed = husky.install()

    assert installed.status is Change.CHAINED
    assert installed.hook == husky.top / ".git" / "agent-mail" / "hooks" / "pre-commit"
    done = husky.commit()
    assert done.returncode == 0, done.stderr
    assert husky.told("guard") == ["guard hook pre-commit"]
    assert husky.told("former") == ["pre-commit ", "commit-msg .git/COMMIT_EDITMSG"]
    husky.uninstall()
    assert _files(husky.top / ".husky") == before
    assert husky.config_bytes() == config
    assert not (husky.top / ".git" / "agent-mail").exists()


def test_the_guard_survives_that_husky_prepares_again(husky: Code) -> None:
    husky.install()

    husky_prepares(husky)

    assert husky.commit(GUARD_ANSWER="1").returncode == 1
    assert husky.commit().returncode == 0
    assert husky.told("former") == ["pre-commit ", "commit-msg .git/COMMIT_EDITMSG"]
    assert husky.install().status is Change.UNCHANGED


def test_installing_again_writes_what_is_gone_from_our_folder(husky: Code) -> None:
    lost = husky.install().hook.with_name("commit-msg")
    lost.unlink()

    assert husky.install().status is Change.CHAINED

    assert lost.exists()


def test_a_push_reaches_husky_with_its_arguments_and_input(husky: Code) -> None:
    bare = husky.clone_target()
    (husky.top / ".husky" / "pre-push").write_text('echo "$*" >> "$RECORDS/former"; cat >> "$RECORDS/former.input"\n')
    husky.install()
    husky.commit(HUSKY="0")

    husky.git("push", "origin", "main")

    head = husky.git("rev-parse", "HEAD").strip()
    line = f"refs/heads/main {head} refs/heads/main {'0' * 40}"
    assert (husky.told("former"), husky.told("former.input")) == ([f"origin {bare}"], [line])
    assert husky.told("guard.input") == [line]


def test_a_repository_that_drops_husky_uses_gits_own_folder_again(husky: Code) -> None:
    husky.install()
    husky.git("config", "--unset", "core.hooksPath")
    husky.write_hook("pre-commit", _SAY)

    husky.commit()

    assert husky.told("guard") == ["guard hook pre-commit"]
    assert husky.told("former") == [".git/hooks/pre-commit "]


def test_installing_again_after_husky_is_gone_moves_into_gits_own_folder(husky: Code) -> None:
    husky.install()
    husky.git("config", "--unset", "core.hooksPath")

    assert husky.install().hook == husky.hooks / "pre-commit"

    assert not (husky.top / ".git" / "agent-mail").exists()
    assert husky.commit(GUARD_ANSWER="1").returncode == 1


def test_husky_that_comes_after_us_is_seen_and_taken_along(code: Code) -> None:
    code.install()
    husky_prepares(code)
    assert look_at_guard(code.top).hooks[0].standing is HookState.NOT_LOOKED_AT

    installed = code.install()

    assert installed.hook == code.top / ".git" / "agent-mail" / "hooks" / "pre-commit"
    assert not (code.hooks / "pre-commit").exists()
    assert code.commit(GUARD_ANSWER="1").returncode == 1


def test_work_trees_share_the_guard_and_have_their_own_husky(husky: Code) -> None:
    husky.commit()
    husky.install()
    husky.forget()
    linked = husky.top.parent / "linked"
    husky.git("worktree", "add", "--quiet", str(linked))

    refused = husky.commit(cwd=linked, GUARD_ANSWER="1")
    passed = husky.commit(cwd=linked)

    assert (refused.returncode, passed.returncode) == (1, 0)
    assert husky.told("former") == [], "no npm install has run there, so Git would find no hook either"


# --- Other folders ----------------------------------------------------------------------------------------------------


def test_tracked_hooks_stay_clean_and_keep_their_names(code: Code) -> None:
    code.write_hook("pre-commit", _SAY, folder=code.top / ".githooks")
    code.git("config", "core.hooksPath", ".githooks")
    code.git("add", ".githooks")
    code.commit()
    code.forget()

    code.install()

    assert code.git("status", "--porcelain") == ""
    assert code.commit(FORMER_ANSWER="1").returncode == 1
    assert code.told("former") == [".githooks/pre-commit "]


def test_a_folder_for_all_of_a_users_repositories_is_left_alone(code: Code) -> None:
    shared = code.home / "my hooks"
    code.write_hook("pre-commit", _SAY, folder=shared)
    code.git("config", "--global", "core.hooksPath", "~/my hooks")
    before = _files(shared)
    other = code.top.parent / "other"
    code.git("init", "--quiet", str(other))

    code.install()

    assert _files(shared) == before
    assert code.commit(GUARD_ANSWER="1").returncode == 1
    assert code.commit(cwd=other, GUARD_ANSWER="1").returncode == 0
    code.commit()
    assert code.told("former") == [f"{shared}/pre-commit "] * 2


def test_an_absolute_folder_works_alike(code: Code) -> None:
    folder = code.top.parent / "team's hooks"
    code.write_hook("commit-msg", _SAY, folder=folder)
    code.git("config", "core.hooksPath", str(folder))

    code.install()

    assert code.commit(FORMER_ANSWER="1").returncode == 1
    assert code.told("former") == [f"{folder}/commit-msg .git/COMMIT_EDITMSG"]


def test_a_hook_that_asks_for_its_own_name_keeps_it(code: Code) -> None:
    path = code.write_hook("pre-commit", '#!/bin/sh\necho "$(basename "$0")" >> "$RECORDS/former"\n')
    before = path.read_bytes()

    installed = code.install()

    assert installed.hook.parent == code.top / ".git" / "agent-mail" / "hooks"
    code.commit()
    assert code.told("former") == ["pre-commit"]
    assert path.read_bytes() == before


def test_a_hooks_folder_that_is_a_link_into_the_work_tree_is_left_alone(code: Code) -> None:
    folder = code.top / "githooks"
    code.write_hook("pre-commit", '#!/bin/sh\nexit "${FORMER_ANSWER:-0}"\n', folder=folder)
    shutil.rmtree(code.hooks)
    code.hooks.symlink_to("../githooks")

    code.install()

    assert [path.name for path in folder.iterdir()] == ["pre-commit"]
    assert code.commit(GUARD_ANSWER="1").returncode == 1
    assert code.commit(FORMER_ANSWER="1").returncode == 1


def test_a_server_side_hook_is_forwarded_only_where_there_is_one(code: Code) -> None:
    folder = code.top / ".githooks"
    code.write_hook("reference-transaction", _SAY, folder=folder)
    code.git("config", "core.hooksPath", ".githooks")

    installed = code.install()

    names = {path.name for path in installed.hook.parent.iterdir()}
    assert "reference-transaction" in names
    assert "post-receive" not in names


def test_our_own_folder_written_in_another_way_does_not_run_itself_for_ever(husky: Code) -> None:
    husky.git("config", "core.hooksPath", ".git/../.git/agent-mail/hooks")
    husky.install()

    assert husky.commit().returncode == 0
    assert husky.told("guard") == ["guard hook pre-commit"]


def test_a_repository_that_is_moved_keeps_its_other_hooks_and_says_that_the_guard_is_off(husky: Code) -> None:
    husky.install()
    moved = husky.top.with_name("moved [away]*")
    husky.top.rename(moved)

    done = husky.commit(cwd=moved, GUARD_ANSWER="1")

    assert done.returncode == 0
    assert husky.told("former")[0] == "pre-commit "
    assert not look_at_guard(moved).hooks[0].guards
    husky.install(moved)
    assert husky.commit(cwd=moved, GUARD_ANSWER="1").returncode == 1
    husky.uninstall(moved)
    assert "includeif" not in husky.git("config", "--local", "--list", cwd=moved)


def test_a_setting_of_one_work_tree_alone_is_refused_and_nothing_is_left(code: Code) -> None:
    code.git("config", "extensions.worktreeConfig", "true")
    code.git("config", "--worktree", "core.hooksPath", "/hooks/of/this/tree")
    config = code.config_bytes()

    with pytest.raises(HookInTheWay, match="by the worktree configuration"):
        code.install()

    assert code.config_bytes() == config
    assert not (code.top / ".git" / "agent-mail").exists()


def test_what_somebody_put_into_our_folder_is_left_and_named(husky: Code) -> None:
    folder = husky.install().hook.parent
    (folder / "commit-msg").write_text("#!/bin/sh\n# somebody's\n")

    with pytest.raises(HookInTheWay):
        husky.install()
    gone = husky.uninstall()

    assert [path.name for path in folder.iterdir()] == ["commit-msg"]
    assert "commit-msg" in gone.left[0]
