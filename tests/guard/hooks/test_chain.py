"""A hook in front of the one that was there, also where the framework and lefthook write theirs again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.guard.hooks.chain import Change, HookInTheWay, require_ordinary, unchain
from mcp_agent_mail.guard.hooks.folder import HookFile, NothingPlainThere, open_folder_of_others
from mcp_agent_mail.guard.hooks.shim import guard_shim
from mcp_agent_mail.guard.hooks.status import HookState, look_at_guard
from tests.guard.code_repository import FOREIGN, Code

_FRAMEWORK = """#!/bin/sh
# What `pre-commit hook-impl` does about hooks that it found: run the legacy one, or complain of a circle.
hook=${0##*/}
while [ "$1" != -- ]; do
    case $1 in --hook-dir) folder=$2 ;; --hook-type=*) type=${1#*=} ;; esac
    shift
done
shift
if [ -n "$PRE_COMMIT_RUNNING_LEGACY" ]; then echo "bug: migration mode" >&2; exit 1; fi
code=0
if [ -x "$folder/$type.legacy" ]; then
    PRE_COMMIT_RUNNING_LEGACY=1 "$folder/$type.legacy" "$@" || code=1
fi
echo "framework $type" >> "$RECORDS/former"
exit $code
"""

_LEFTHOOK = """#!/bin/sh
# What `lefthook run` does when its configuration has changed: write the hooks anew, put others aside as *.old.
[ "$1" = run ] || exit 0
if [ -e "$HOME/sync" ]; then
    rm "$HOME/sync"
    mv "$HOOKS/pre-commit" "$HOOKS/pre-commit.old" && cp "$HOME/lefthook.sh" "$HOOKS/pre-commit"
fi
echo "lefthook $2" >> "$RECORDS/former"
"""


def _program(code: Code, name: str, text: str) -> None:
    code.write_hook(name, text, folder=code.home / "bin")


def framework_hook(hook: str = "pre-commit", *, python: str = "") -> bytes:
    """As `pre-commit install` fills in its template."""
    text = (FOREIGN / "pre-commit.sh").read_text()
    arguments = f"ARGS=(hook-impl --config=.pre-commit-config.yaml --hook-type={hook})"
    return text.replace("ARGS=(hook-impl)", arguments).replace("PYTHON=''", f"PYTHON={python}").encode()


def framework_installs(code: Code, *, python: str = "", overwrite: bool = False) -> Path:
    """`pre-commit install`: a hook that is not its own becomes `.legacy`, which it runs first."""
    path = code.hooks / "pre-commit"
    legacy = path.with_name("pre-commit.legacy")
    if path.exists() and b"138fd403232d2ddd5efb44317e38bf03" not in path.read_bytes():
        path.rename(legacy)
    if overwrite:
        legacy.unlink(missing_ok=True)
    path.write_bytes(framework_hook(python=python))
    path.chmod(0o755)
    return path


@pytest.fixture
def framework(code: Code) -> Code:
    _program(code, "pre-commit", _FRAMEWORK)
    return code


@pytest.fixture
def lefthook(code: Code) -> Code:
    _program(code, "lefthook", _LEFTHOOK)
    (code.home / "lefthook.sh").write_bytes((FOREIGN / "lefthook.sh").read_bytes())
    (code.home / "lefthook.sh").chmod(0o755)
    return code


def _lefthook_installs(code: Code) -> Path:
    """`lefthook install`: a hook that is not its own becomes `.old`, once."""
    path = code.hooks / "pre-commit"
    if path.exists() and b"call_lefthook" not in path.read_bytes():
        assert not path.with_name("pre-commit.old").exists(), "lefthook gives up here"
        path.rename(path.with_name("pre-commit.old"))
    path.write_bytes((FOREIGN / "lefthook.sh").read_bytes())
    path.chmod(0o755)
    return path


def _standing(code: Code) -> HookState:
    return look_at_guard(code.top).hooks[0].standing


# --- The pre-commit framework -----------------------------------------------------------------------------------------


def test_the_framework_runs_after_the_guard_and_comes_back(framework: Code) -> None:
    path = framework_installs(framework)
    before = path.read_bytes()
    assert framework.install().status is Change.CHAINED

    done = framework.commit()

    assert done.returncode == 0, done.stderr
    assert (framework.told("guard"), framework.told("former")) == (["guard hook pre-commit"], ["framework pre-commit"])
    framework.uninstall()
    assert path.read_bytes() == before


def test_the_framework_installed_again_over_us_goes_on_and_so_does_the_guard(framework: Code) -> None:
    framework_installs(framework)
    framework.install()
    framework_installs(framework, python="/new/python")

    passed = framework.commit()
    refused = framework.commit(GUARD_ANSWER="1")

    assert _standing(framework) is HookState.CALLED
    assert (passed.returncode, refused.returncode) == (0, 1), passed.stderr
    assert framework.told("former")[:1] == ["framework pre-commit"]


def test_installing_again_puts_the_guard_before_the_frameworks_new_hook(framework: Code) -> None:
    framework_installs(framework)
    framework.install()
    path = framework_installs(framework, python="/new/python")
    new = path.read_bytes()

    assert framework.install().status is Change.CHAINED

    assert _standing(framework) is HookState.CHAINED
    assert not (framework.hooks / "pre-commit.legacy").exists()
    framework.uninstall()
    assert path.read_bytes() == new


def test_uninstalling_under_the_framework_takes_only_ours(framework: Code) -> None:
    framework_installs(framework)
    framework.install()
    path = framework_installs(framework, python="/new/python")
    new = path.read_bytes()

    framework.uninstall()

    assert path.read_bytes() == new
    assert [each.name for each in framework.hooks.iterdir() if each.suffix != ".sample"] == ["pre-commit"]
    assert framework.commit(GUARD_ANSWER="1").returncode == 0


def test_a_persons_hook_stays_the_frameworks_legacy_one(framework: Code) -> None:
    own = framework.write_hook("pre-commit").read_bytes()
    framework.install()
    framework_installs(framework)
    framework.commit()
    assert framework.told("former") == ["", "framework pre-commit"]

    framework.install()
    framework.forget()
    framework.commit()

    assert framework.told("guard") == ["guard hook pre-commit"]
    assert framework.told("former") == ["", "framework pre-commit"]
    framework.uninstall()
    assert (framework.hooks / "pre-commit.legacy").read_bytes() == own


def test_a_framework_that_overwrote_us_is_chained_again(framework: Code) -> None:
    framework_installs(framework)
    framework.install()
    framework_installs(framework, overwrite=True)
    assert _standing(framework) is HookState.REPLACED

    assert framework.install().status is Change.CHAINED

    framework.commit()
    assert (framework.told("guard"), framework.told("former")) == (["guard hook pre-commit"], ["framework pre-commit"])


def test_a_persons_hook_that_the_framework_overwrote_is_never_dropped(framework: Code) -> None:
    own = framework.write_hook("pre-commit").read_bytes()
    framework.install()
    framework_installs(framework, overwrite=True)

    with pytest.raises(HookInTheWay, match="Somebody has put another hook"):
        framework.install()

    assert (framework.hooks / "pre-commit.before-agent-mail").read_bytes() == own


# --- lefthook ---------------------------------------------------------------------------------------------------------


def test_lefthook_runs_after_the_guard_and_comes_back(lefthook: Code) -> None:
    path = _lefthook_installs(lefthook)
    lefthook.install()

    done = lefthook.commit()

    assert done.returncode == 0, done.stderr
    assert (lefthook.told("guard"), lefthook.told("former")) == (["guard hook pre-commit"], ["lefthook pre-commit"])
    lefthook.uninstall()
    assert path.read_bytes() == (FOREIGN / "lefthook.sh").read_bytes()


def test_lefthook_installed_again_over_us_shows_and_is_chained_again(lefthook: Code) -> None:
    _lefthook_installs(lefthook)
    lefthook.install()
    _lefthook_installs(lefthook)
    assert _standing(lefthook) is HookState.REPLACED

    assert lefthook.install().status is Change.CHAINED

    assert _standing(lefthook) is HookState.CHAINED
    assert not (lefthook.hooks / "pre-commit.old").exists(), "lefthook would give up at the next one"
    lefthook.commit()
    assert (lefthook.told("guard"), lefthook.told("former")) == (["guard hook pre-commit"], ["lefthook pre-commit"])


def test_the_guard_returns_by_itself_after_lefthook_wrote_its_hooks_while_running(lefthook: Code) -> None:
    _lefthook_installs(lefthook)
    lefthook.install()
    (lefthook.home / "sync").touch()

    lefthook.commit(HOOKS=str(lefthook.hooks))

    assert not (lefthook.home / "sync").exists()
    assert _standing(lefthook) is HookState.CHAINED
    assert lefthook.commit(GUARD_ANSWER="1").returncode == 1
    lefthook.uninstall()
    assert (lefthook.hooks / "pre-commit").read_bytes() == (FOREIGN / "lefthook.sh").read_bytes()
    assert not (lefthook.hooks / "pre-commit.old").exists()


def test_a_persons_hook_is_where_lefthook_would_have_put_it(lefthook: Code) -> None:
    own = lefthook.write_hook("pre-commit").read_bytes()
    lefthook.install()
    _lefthook_installs(lefthook)

    lefthook.uninstall()

    assert (lefthook.hooks / "pre-commit.old").read_bytes() == own
    assert (lefthook.hooks / "pre-commit").read_bytes() == (FOREIGN / "lefthook.sh").read_bytes()


# --- One hook in its folder -------------------------------------------------------------------------------------------


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[HookFile]:
    """Where a hook may lie, in a folder that is opened."""
    (tmp_path / "hooks").mkdir()
    with open_folder_of_others(tmp_path / "hooks") as folder:
        yield folder.file("pre-commit")


@pytest.mark.parametrize("suffix", ["", ".before-agent-mail", ".legacy", ".old"])
def test_what_is_no_file_where_a_hook_belongs_is_refused_by_name(hook: HookFile, suffix: str) -> None:
    os.mkfifo(hook.beside(suffix).path)

    with pytest.raises(NothingPlainThere, match=f"pre-commit{suffix} is no file"):
        require_ordinary(hook)


def test_a_link_may_lie_there_wherever_it_leads(hook: HookFile) -> None:
    hook.path.symlink_to("nowhere")

    require_ordinary(hook)


def test_a_hook_of_others_alone_is_nothing_to_take_away(hook: HookFile) -> None:
    hook.write(b"#!/bin/sh\n")

    assert unchain(hook) == (False, None)
    assert hook.content() == b"#!/bin/sh\n"


@pytest.mark.parametrize("former", [False, True])
def test_an_edited_hook_of_ours_is_left_and_the_former_one_named(hook: HookFile, code: Code, former: bool) -> None:
    hook.write(guard_shim("pre-commit", code.program) + b"echo more\n")
    if former:
        hook.beside(".before-agent-mail").write(b"#!/bin/sh\n")

    removed, left = unchain(hook)

    named = f"; the hook from before is {hook.path}.before-agent-mail" if former else ""
    assert (removed, left) == (
        False,
        f"{hook.path} was changed after `am guard install` wrote it, and is left alone{named}",
    )


def test_the_newer_hook_of_a_tool_stays_alone(hook: HookFile) -> None:
    newer = framework_hook(python="/new/python")
    hook.write(newer)
    hook.beside(".before-agent-mail").write(framework_hook())

    assert unchain(hook) == (True, None)
    assert (hook.folder.names(), hook.content()) == (["pre-commit"], newer)
