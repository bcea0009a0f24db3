from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mcp_agent_mail.guard.hooks.chain import Change, HookInTheWay
from mcp_agent_mail.guard.hooks.install import OtherProject
from tests.guard.code_repository import PROJECT, Code

# --- Where there is no hook yet ---------------------------------------------------------------------------------------


def test_a_commit_and_a_push_run_the_guard(code: Code) -> None:
    code.clone_target()

    installed = code.install()

    assert (installed.hook, installed.status) == (code.hooks / "pre-commit", Change.INSTALLED)
    code.git("commit", "--allow-empty", "-m", "one")
    code.git("push", "origin", "main")
    assert code.told("guard") == ["guard hook pre-commit", f"guard hook pre-push origin {code.home / 'origin.git'}"]
    head = code.git("rev-parse", "HEAD").strip()
    assert code.told("guard.input") == [f"refs/heads/main {head} refs/heads/main {'0' * 40}"]


def test_a_refusal_of_the_guard_stops_commit_and_push(code: Code) -> None:
    code.clone_target()
    code.git("commit", "--allow-empty", "-m", "one")
    code.install()

    refused = code.commit(GUARD_ANSWER="1")
    unpushed = code.run("git", "push", "origin", "main", GUARD_ANSWER="1")

    assert refused.returncode == 1
    assert unpushed.returncode == 1
    assert code.git("rev-list", "--count", "HEAD").strip() == "1"


def test_installing_twice_changes_nothing_the_second_time(code: Code) -> None:
    code.write_hook("pre-commit")
    code.install()
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in code.hooks.iterdir()}

    again = code.install()

    assert again.status is Change.UNCHANGED
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in code.hooks.iterdir()} == before


def test_uninstalling_leaves_the_repository_as_it_was(code: Code) -> None:
    config, hooks = code.config_bytes(), sorted(code.hooks.iterdir())
    code.install()

    removed = code.uninstall()

    assert removed.removed is True
    assert code.config_bytes() == config
    assert sorted(code.hooks.iterdir()) == hooks
    assert code.uninstall().removed is False


def test_a_repository_without_a_hooks_folder_gets_one(code: Code) -> None:
    for path in code.hooks.iterdir():
        path.unlink()
    code.hooks.rmdir()

    code.install()

    assert code.commit(GUARD_ANSWER="1").returncode == 1


# --- Hooks that are there ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [0, 3])
def test_a_former_hook_keeps_its_arguments_input_directory_and_exit_code(answer: int, code: Code) -> None:
    code.write_hook("pre-push")
    code.install()
    pushed = "refs/heads/a 1 refs/heads/a 2\nrefs/heads/b 3 refs/heads/b 4\n"

    done = code.run(
        str(code.hooks / "pre-push"), "a remote", "b'c", stdin=pushed.encode(), FORMER_ANSWER=str(answer), MARK="x"
    )

    assert done.returncode == answer
    assert code.told("former") == ["a remote b'c"]
    assert (code.records / "former.input").read_text() == pushed
    assert (code.records / "guard.input").read_text() == pushed
    assert code.told("former.cwd") == [str(code.top)]
    assert "MARK=x" in code.told("former.env")


@pytest.mark.parametrize("pushed", [b"", b"no end of line", b"\xff\xfe\n\n\n"])
def test_the_former_hook_reads_byte_for_byte_what_git_said(pushed: bytes, code: Code) -> None:
    code.write_hook("pre-push")
    code.install()

    code.run(str(code.hooks / "pre-push"), stdin=pushed)

    assert (code.records / "former.input").read_bytes() == pushed
    assert (code.records / "guard.input").read_bytes() == pushed


def test_the_former_hook_sees_the_environment_that_git_gives(code: Code) -> None:
    code.write_hook("pre-commit")
    code.commit()
    without = code.told("former.env")
    code.install()

    code.commit()

    assert code.told("former.env") == without


def test_the_guard_comes_first_and_its_refusal_spares_the_former_hook(code: Code) -> None:
    code.write_hook("pre-commit")
    code.install()

    code.commit(GUARD_ANSWER="1")

    assert code.told("former") == []


def test_a_refusal_of_the_former_hook_still_stops_the_commit(code: Code) -> None:
    code.write_hook("pre-commit")
    code.install()

    assert code.commit(FORMER_ANSWER="1").returncode == 1


def test_a_former_hook_comes_back_byte_for_byte(code: Code) -> None:
    path = code.write_hook("pre-commit", mode=0o751)
    before, facts = path.read_bytes(), path.stat()
    assert code.install().status is Change.CHAINED

    code.uninstall()

    after = path.stat()
    assert path.read_bytes() == before
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (facts.st_ino, facts.st_mode, facts.st_mtime_ns)
    assert not [each for each in code.hooks.iterdir() if "agent-mail" in each.name]


def test_a_link_stays_a_link(code: Code) -> None:
    script = code.write_hook("check.sh", folder=code.top / "scripts")
    link = code.hooks / "pre-commit"
    link.symlink_to("../../scripts/check.sh")
    code.install()

    code.commit()
    code.uninstall()

    assert code.told("former") == [""]
    assert link.readlink() == Path("../../scripts/check.sh")
    assert script.is_file()


def test_a_hook_that_git_does_not_run_is_not_run(code: Code) -> None:
    path = code.write_hook("pre-commit", mode=0o644)
    code.install()

    done = code.commit()
    code.uninstall()

    assert done.returncode == 0
    assert code.told("former") == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_hook_without_an_interpreter_line_runs_as_git_runs_it(code: Code) -> None:
    code.write_hook("pre-commit", 'echo plain >> "$RECORDS/former"\n')
    code.install()

    code.commit()

    assert code.told("former") == ["plain"]


def test_an_interrupted_installation_is_finished_by_the_next(code: Code) -> None:
    code.write_hook("pre-commit").rename(code.hooks / "pre-commit.before-agent-mail")

    assert code.install().status is Change.CHAINED

    code.commit()
    assert code.told("former") == [""]


# --- What somebody has done since -------------------------------------------------------------------------------------


def test_a_hook_of_ours_that_somebody_edited_is_left_alone(code: Code) -> None:
    code.install()
    path = code.hooks / "pre-commit"
    edited = path.read_bytes().replace(b"exit 0", b"exit  0")
    path.write_bytes(edited)

    with pytest.raises(HookInTheWay, match="changed by somebody"):
        code.install()
    gone = code.uninstall()

    assert path.read_bytes() == edited
    assert gone.removed is True
    assert [str(path) in reason for reason in gone.left] == [True]


def test_a_hook_that_replaced_ours_is_left_alone_and_named(code: Code) -> None:
    former = code.write_hook("pre-commit").read_bytes()
    code.install()
    path = code.write_hook("pre-commit", "#!/bin/sh\n# somebody's\n")

    with pytest.raises(HookInTheWay, match="Somebody has put another hook"):
        code.install()
    gone = code.uninstall()

    assert path.read_text() == "#!/bin/sh\n# somebody's\n"
    assert (code.hooks / "pre-commit.before-agent-mail").read_bytes() == former
    assert "pre-commit.before-agent-mail" in gone.left[0]


def test_a_refused_installation_changes_nothing(code: Code) -> None:
    code.write_hook("pre-push")
    code.install()
    code.write_hook("pre-push", "#!/bin/sh\n# somebody's\n")
    (code.hooks / "pre-commit").unlink()
    before = sorted(code.hooks.iterdir())

    with pytest.raises(HookInTheWay):
        code.install()

    assert sorted(code.hooks.iterdir()) == before


def test_a_hook_that_replaced_ours_where_there_was_none_is_chained(code: Code) -> None:
    code.install()
    code.write_hook("pre-commit")

    assert code.install().status is Change.CHAINED

    code.commit()
    assert (code.told("guard"), code.told("former")) == (["guard hook pre-commit"], [""])


# --- The project ------------------------------------------------------------------------------------------------------


def test_every_work_tree_means_the_same_project(code: Code) -> None:
    code.git("commit", "--allow-empty", "-m", "one")
    linked = code.top.parent / "linked tree"
    code.git("worktree", "add", "--quiet", "-b", "linked", str(linked))

    installed = code.install(linked)

    assert installed.hook == code.hooks / "pre-commit"
    assert code.git("config", "agent-mail.project").strip() == PROJECT
    assert code.git("config", "agent-mail.project", cwd=linked).strip() == PROJECT
    assert [code.commit(cwd=top, GUARD_ANSWER="1").returncode for top in (code.top, linked)] == [1, 1]


def test_a_repository_of_another_project_is_refused_unless_told(code: Code) -> None:
    code.install(project="/code/other")

    with pytest.raises(OtherProject, match="/code/other"):
        code.install()

    assert code.install(replace=True).status is Change.INSTALLED
    assert code.git("config", "agent-mail.project").strip() == PROJECT


def test_a_project_that_somebody_recorded_stays(code: Code) -> None:
    code.git("config", "agent-mail.project", PROJECT)
    config = code.config_bytes()
    code.install()

    code.uninstall()

    assert code.config_bytes() == config


def test_a_project_that_somebody_recorded_after_us_stays(code: Code) -> None:
    code.install()
    code.git("config", "agent-mail.project", "/code/other")

    code.uninstall()

    assert code.git("config", "agent-mail.project").strip() == "/code/other"


# --- Where it may stand -----------------------------------------------------------------------------------------------


def test_a_folder_within_the_work_tree_stands_for_it(code: Code) -> None:
    inner = code.top / "src" / "deep"
    inner.mkdir(parents=True)

    assert code.install(inner).hook == code.hooks / "pre-commit"


def test_nothing_that_the_repository_configures_is_run(code: Code) -> None:
    trap = code.write_hook("trap", '#!/bin/sh\ntouch "$HOME/trapped"\n', folder=code.home)
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "alias.config", "alias.rev-parse"):
        code.git("config", name, f"!{trap}" if name.startswith("alias") else str(trap))

    code.install()
    code.uninstall()

    assert not (code.home / "trapped").exists()


def test_a_submodule_is_guarded_by_itself(code: Code) -> None:
    code.git("commit", "--allow-empty", "-m", "one")
    code.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(code.top), "part")

    installed = code.install(code.top / "part")

    assert installed.hook == code.top / ".git" / "modules" / "part" / "hooks" / "pre-commit"
    assert code.commit(cwd=code.top / "part", GUARD_ANSWER="1").returncode == 1
    assert code.commit(GUARD_ANSWER="1").returncode == 0
