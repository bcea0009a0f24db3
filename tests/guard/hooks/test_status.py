"""How the guard stands: each thing that Git may find where a hook belongs, and what to do about it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from mcp_agent_mail.guard.hooks.install import install_guard
from mcp_agent_mail.guard.hooks.shim import Program
from mcp_agent_mail.guard.hooks.status import HookState, HookStatus, look_at_guard
from tests.guard.code_repository import PROJECT, Code

_FOREIGN = "#!/bin/sh\n# somebody's\n"


def _pre_commit(code: Code) -> HookStatus:
    return look_at_guard(code.top).hooks[0]


def test_without_a_guard_status_names_what_is_missing_and_the_next_step(code: Code) -> None:
    status = look_at_guard(code.top)

    assert [(hook.hook, hook.standing, hook.guards) for hook in status.hooks] == [
        ("pre-commit", HookState.MISSING, False),
        ("pre-push", HookState.MISSING, False),
    ]
    assert status.hooks[0].next_step == "am guard install"
    assert (status.top, status.folder, status.in_front, status.hooks_path) == (code.top, code.hooks, False, None)
    assert (status.project, status.name, status.python, status.is_runnable) == (None, None, None, False)


def test_an_installed_guard_is_told_with_its_project_and_whom_it_takes_the_committer_for(code: Code) -> None:
    code.install()
    code.git("config", "--global", "agent-mail.name", "BlueLake")

    status = look_at_guard(code.top)

    assert [(hook.standing, hook.guards, hook.next_step) for hook in status.hooks] == [
        (HookState.INSTALLED, True, None)
    ] * 2
    assert (status.project, status.name) == (PROJECT, "BlueLake")


def test_a_former_hook_is_named(code: Code) -> None:
    code.write_hook("pre-commit", _FOREIGN)
    code.install()

    hook = _pre_commit(code)

    assert (hook.standing, hook.former) == (HookState.CHAINED, code.hooks / "pre-commit.before-agent-mail")


def test_in_front_of_a_folder_of_others_the_hook_there_is_the_former_one(code: Code) -> None:
    theirs = code.write_hook("pre-commit", _FOREIGN, folder=code.top / ".githooks")
    code.git("config", "core.hooksPath", ".githooks")
    code.install()

    status = look_at_guard(code.top)

    assert (status.in_front, status.hooks_path) == (True, ".githooks")
    assert status.folder == code.top / ".git" / "agent-mail" / "hooks"
    assert [(hook.standing, hook.former) for hook in status.hooks] == [
        (HookState.CHAINED, theirs),
        (HookState.INSTALLED, None),
    ]


def test_a_hook_of_ours_that_git_would_not_run_is_missing(code: Code) -> None:
    code.install().hook.chmod(0o644)

    assert _pre_commit(code).standing is HookState.MISSING


def test_a_hook_that_somebody_edited_is_changed(code: Code) -> None:
    hook = code.install().hook
    hook.write_bytes(hook.read_bytes().replace(b"exit 0", b"exit  0"))

    assert _pre_commit(code).standing is HookState.CHANGED


def test_a_hook_of_others_is_foreign_and_one_in_our_place_a_replacement(code: Code) -> None:
    code.write_hook("pre-commit", _FOREIGN)
    before = _pre_commit(code).standing
    code.install()
    code.write_hook("pre-commit", "#!/bin/sh\n# another\n")

    assert (before, _pre_commit(code).standing) == (HookState.FOREIGN, HookState.REPLACED)


@pytest.mark.parametrize("hook", [None, _FOREIGN])
def test_where_git_no_longer_looks_an_installed_guard_counts_for_nothing(hook: str | None, code: Code) -> None:
    code.install()
    code.git("config", "core.hooksPath", ".githooks")
    if hook is not None:
        code.write_hook("pre-commit", hook, folder=code.top / ".githooks")

    status = look_at_guard(code.top)

    assert status.folder == code.top / ".githooks"
    assert status.hooks[0].standing is HookState.NOT_LOOKED_AT


def test_the_running_program_can_start_and_one_that_is_gone_cannot(code: Code) -> None:
    code.install()
    gone = look_at_guard(code.top)
    install_guard(code.top, PROJECT, program=Program.running())

    running = look_at_guard(code.top)

    assert (gone.python, gone.is_runnable) == (code.program.python, False)
    assert (running.python, running.is_runnable) == (Program.running().python, True)


def test_another_installation_can_start_if_it_is_there(code: Code) -> None:
    packages = code.home / "it's elsewhere"
    (packages / "mcp_agent_mail").mkdir(parents=True)
    (packages / "mcp_agent_mail" / "__main__.py").touch()
    install_guard(code.top, PROJECT, program=Program(python=code.program.python, packages=str(packages)))

    assert look_at_guard(code.top).is_runnable is True

    Path(code.program.python).unlink()
    assert look_at_guard(code.top).is_runnable is False


def test_a_hook_that_claims_to_be_ours_and_names_no_program_starts_nothing(code: Code) -> None:
    text = b"#!/bin/sh\npython='unclosed\n"
    seal = b"# agent-mail %s\n" % hashlib.sha256(text).hexdigest().encode()
    code.write_hook("pre-commit", (text + seal).decode())

    status = look_at_guard(code.top)

    assert (status.python, status.is_runnable) == (None, False)
