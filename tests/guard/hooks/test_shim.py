"""The hook files we write: known again, and never a silent stop or a silent pass where the guard cannot run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.guard.hooks import shim
from mcp_agent_mail.guard.hooks.folder import HookFile, open_folder_of_others
from mcp_agent_mail.guard.hooks.shim import (
    HookFileKind,
    Tool,
    asks_its_name,
    guard_shim,
    kind_of,
    supersedes,
    tool_of,
    write_shim,
)
from tests.guard.code_repository import FOREIGN, Code


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


# --- How files are known again ----------------------------------------------------------------------------------------


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[HookFile]:
    """Where a hook may lie, in a folder that is opened."""
    (tmp_path / "hooks").mkdir()
    with open_folder_of_others(tmp_path / "hooks") as folder:
        yield folder.file("pre-commit")


def test_a_file_of_ours_is_known_until_somebody_edits_it(hook: HookFile, code: Code) -> None:
    nothing = kind_of(hook)
    hook.write(guard_shim("pre-commit", code.program))
    ours = kind_of(hook)
    hook.path.write_bytes(hook.path.read_bytes() + b"echo more\n")

    assert (nothing, ours, kind_of(hook)) == (HookFileKind.NOTHING, HookFileKind.OURS, HookFileKind.CHANGED)


def test_what_is_a_link_or_somebodys_text_is_foreign(hook: HookFile, code: Code) -> None:
    hook.beside(".ours").write(guard_shim("pre-commit", code.program))
    hook.path.symlink_to("pre-commit.ours")
    link = kind_of(hook)
    hook.write(b"#!/bin/sh\n")

    assert (link, kind_of(hook)) == (HookFileKind.FOREIGN, HookFileKind.FOREIGN)


def test_a_shim_that_lies_there_already_is_not_written_again(hook: HookFile, code: Code) -> None:
    text = guard_shim("pre-commit", code.program)
    first, again = write_shim(hook, text), write_shim(hook, text)
    hook.path.chmod(0o644)

    assert (first, again) == (True, False)
    assert write_shim(hook, text) is True, "Git would not run it"
    assert hook.is_runnable()


def test_the_hook_of_a_tool_takes_the_place_of_its_older_one_and_of_no_other(hook: HookFile) -> None:
    older, other = hook.beside(".older"), hook.beside(".other")
    hook.write((FOREIGN / "lefthook.sh").read_bytes())
    older.write((FOREIGN / "lefthook.sh").read_bytes() + b"# of an older version\n")
    other.write((FOREIGN / "pre-commit.sh").read_bytes())

    assert (tool_of(hook), tool_of(other), tool_of(hook.beside(".none"))) == (Tool.LEFTHOOK, Tool.PRE_COMMIT, None)
    assert (supersedes(hook, older), supersedes(hook, other)) == (True, False)


def test_of_somebodys_hooks_only_the_same_one_takes_the_place(hook: HookFile) -> None:
    hook.write(b"#!/bin/sh\n")
    same, other = hook.beside(".same"), hook.beside(".other")
    same.write(b"#!/bin/sh\n")
    other.write(b"#!/bin/sh\nexit 1\n")

    assert (supersedes(hook, same), supersedes(hook, other)) == (True, False)
    assert not supersedes(hook.beside(".none"), hook.beside(".gone"))


def test_a_link_takes_the_place_of_one_that_leads_to_the_same_alone(hook: HookFile) -> None:
    hook.write(b"#!/bin/sh\n")
    for name, target in ((".one", "pre-commit"), (".two", "pre-commit"), (".three", "elsewhere")):
        hook.beside(name).path.symlink_to(target)
    one, two, three = (hook.beside(name) for name in (".one", ".two", ".three"))

    assert (supersedes(one, two), supersedes(one, three)) == (True, False)
    assert (supersedes(one, hook), supersedes(hook, one)) == (False, False), "the same text, of another kind"


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        (b'cd "$(dirname "$0")"\n', False),
        (b'"${0%/*}/check.sh"\n', False),
        (b"echo done\n", False),
        (b'case "$(basename "$0")" in pre-commit) ;; esac\n', True),
        (b"import sys\nprint(sys.argv[0])\n", True),
        (b"\x7fELF\0", True),
    ],
)
def test_a_hook_that_may_ask_for_its_own_name_is_known(hook: HookFile, text: bytes, asks: bool) -> None:
    hook.write(text)

    assert asks_its_name(hook) is asks


def test_the_hooks_of_tools_and_what_is_no_file_ask_for_no_name(hook: HookFile) -> None:
    (hook.folder.path / "pre-commit.folder").mkdir()
    hook.write((FOREIGN / "lefthook.sh").read_bytes() + b'echo "$0"\n')

    assert (asks_its_name(hook), asks_its_name(hook.beside(".folder"))) == (False, False)


def test_an_installed_package_has_the_texts_of_its_hooks_with_it(
    tmp_path: Path, code: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shim, "_PACKAGE", tmp_path)
    (tmp_path / "hooks").mkdir(exist_ok=True)
    (tmp_path / "hooks" / "guard.sh").write_text("exec @python@ # for @hook@\n")

    text = guard_shim("pre-commit", code.program)

    assert text.splitlines()[0] == f"exec '{code.program.python}' # for pre-commit".encode()
