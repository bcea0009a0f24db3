"""A guard that cannot run: never a silent stop, never a silent pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.guard.hooks.status import look_at_guard
from tests.guard.code_repository import Code


@pytest.fixture
def broken(code: Code) -> Code:
    """The interpreter is gone since the installation, and the program is not on PATH."""
    code.write_hook("pre-commit")
    code.install()
    Path(code.program.python).unlink()
    # The tester's own PATH may hold the program.
    code.env["PATH"] = f"{code.home / 'bin'}:/usr/bin:/bin"
    return code


def test_it_warns_and_lets_pass(broken: Code) -> None:
    done = broken.commit()

    assert done.returncode == 0
    assert b"could not run" in done.stderr
    assert b"am guard install" in done.stderr
    assert broken.told("former") == [""]


def test_it_blocks_where_the_environment_says_so(broken: Code) -> None:
    done = broken.commit(AGENT_MAIL_GUARD_ON_ERROR="Block")

    assert done.returncode == 1
    assert b"AGENT_MAIL_GUARD_ON_ERROR=block" in done.stderr
    assert broken.told("former") == []


def test_it_blocks_where_the_users_settings_say_so(broken: Code) -> None:
    settings = broken.home / ".config" / "mcp-agent-mail" / ".env"
    settings.parent.mkdir(parents=True)
    settings.write_text('AGENT_MAIL_GUARD_ON_ERROR="block"\n')

    assert broken.commit().returncode == 1
    assert broken.commit(AGENT_MAIL_GUARD_ON_ERROR="warn").returncode == 0


def test_the_bypass_passes_with_a_warning(broken: Code) -> None:
    done = broken.commit(AGENT_MAIL_GUARD_ON_ERROR="block", AGENT_MAIL_BYPASS="1")

    assert done.returncode == 0
    assert b"could not run" in done.stderr


@pytest.mark.parametrize("answer", ["2", "126", "134"])
def test_an_answer_that_is_neither_pass_nor_refusal_counts_as_broken(answer: str, code: Code) -> None:
    code.install()

    passed = code.commit(GUARD_ANSWER=answer)
    blocked = code.commit(GUARD_ANSWER=answer, AGENT_MAIL_GUARD_ON_ERROR="block")

    assert (passed.returncode, blocked.returncode) == (0, 1)
    assert f"code {answer}".encode() in passed.stderr


def test_the_program_on_path_takes_over_when_its_installation_was_moved(broken: Code) -> None:
    broken.write_hook(
        "mcp-agent-mail", '#!/bin/sh\necho "$*" >> "$RECORDS/guard"\nexit 1\n', folder=broken.home / "bin"
    )

    done = broken.commit()

    assert done.returncode == 1
    assert broken.told("guard") == ["guard hook pre-commit"]


def test_an_interpreter_without_the_package_counts_as_gone(code: Code) -> None:
    Path(code.program.python).write_text('#!/bin/sh\nexec python3 -S "$@"\n')
    code.install()
    code.env["PATH"] = f"{code.home / 'bin'}:/usr/bin:/bin"
    code.write_hook("python3", "#!/bin/sh\nexit 127\n", folder=code.home / "bin")

    done = code.commit()

    assert done.returncode == 0
    assert b"could not run" in done.stderr


def test_status_says_that_it_cannot_run(broken: Code) -> None:
    standing = look_at_guard(broken.top)

    assert (standing.python, standing.is_runnable) == (broken.program.python, False)
