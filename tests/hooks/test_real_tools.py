"""The guard beside the real programs, and they beside it: installed before, after and again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcp_agent_mail.guard.hooks.chain import Change
from mcp_agent_mail.guard.hooks.status import HookState, look_at_guard
from tests.guard.code_repository import FOREIGN, Code, make_code
from tests.hooks.tools import TOOLS, HookTool

pytestmark = pytest.mark.hooks


@pytest.fixture(params=TOOLS, ids=lambda tool: tool.name)
def tool(request: pytest.FixtureRequest) -> HookTool:
    found: HookTool = request.param
    return found


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: HookTool) -> Code:
    """A repository with the tool's configuration, committed; its hooks are not written yet."""
    code = make_code(tmp_path)
    monkeypatch.setenv("HOME", str(code.home))
    code.clone_target()
    tool.configure(code)
    code.git("add", ".")
    code.git("commit", "--quiet", "-m", "the tool's configuration")
    return code


def _hook_files(code: Code) -> dict[str, tuple[bytes, int]]:
    folders = [code.hooks, code.top / ".husky"]
    paths = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".sample"]
    return {str(path): (path.read_bytes(), path.stat().st_mode) for path in paths}


def _change(code: Code) -> None:
    with (code.top / "work.txt").open("a") as file:
        file.write("more\n")
    code.git("add", "work.txt")


def test_both_answer_and_uninstalling_leaves_the_tools_bytes(code: Code, tool: HookTool) -> None:
    tool.install(code)
    before = _hook_files(code)
    assert code.install().status is Change.CHAINED
    _change(code)

    refused_by_guard = code.commit(GUARD_ANSWER="1")
    assert code.told("former") == []
    refused_by_tool = code.commit(FORMER_ANSWER="1")
    passed = code.commit()
    unpushed = code.run("git", "push", "origin", "main", GUARD_ANSWER="1")
    pushed = code.run("git", "push", "origin", "main")

    assert [done.returncode for done in (refused_by_guard, refused_by_tool, passed, unpushed, pushed)] == [
        1,
        1,
        0,
        1,
        0,
    ]
    assert len(code.told("former")) == 3, "the refused commit, the commit, the push"
    code.uninstall()
    assert _hook_files(code) == before


def test_the_tool_installed_again_takes_nothing_from_the_guard_for_good(code: Code, tool: HookTool) -> None:
    tool.install(code)
    code.install()
    tool.install(code)

    standing = look_at_guard(code.top).hooks[0].standing
    # lefthook puts ours aside and does not run it: seen, and repaired by installing again.
    assert standing is {"pre-commit": HookState.CALLED, "husky": HookState.CHAINED}.get(tool.name, HookState.REPLACED)
    code.install()
    _change(code)

    assert code.commit(GUARD_ANSWER="1").returncode == 1
    assert code.commit(FORMER_ANSWER="1").returncode == 1
    assert code.commit().returncode == 0
    tool.install(code)
    code.install()
    code.uninstall()
    _change(code)
    assert code.commit(GUARD_ANSWER="1").returncode == 0
    assert code.told("former") == [""] * 3


def test_a_tool_that_comes_after_the_guard_is_chained_by_installing_again(code: Code, tool: HookTool) -> None:
    code.install()
    tool.install(code)

    code.install()
    _change(code)

    assert look_at_guard(code.top).hooks[0].standing is HookState.CHAINED
    assert code.commit(GUARD_ANSWER="1").returncode == 1
    assert code.commit(FORMER_ANSWER="1").returncode == 1
    assert code.commit().returncode == 0


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if "lefthook" in tool.name], indirect=True, ids=str)
def test_the_guard_outlives_that_lefthook_writes_its_hooks_while_it_runs(code: Code, tool: HookTool) -> None:
    tool.install(code)
    code.install()
    config = code.top / "lefthook.yml"
    hooks = json.loads(config.read_text())
    config.write_text(json.dumps({**hooks, "commit-msg": hooks["pre-commit"]}))
    # It compares times by the second.
    os.utime(config, (config.stat().st_atime, config.stat().st_mtime + 10))
    _change(code)

    passed = code.commit()

    assert passed.returncode == 0
    assert b"sync hooks" in passed.stdout + passed.stderr, "lefthook did write them anew"
    assert look_at_guard(code.top).hooks[0].standing is HookState.CHAINED
    _change(code)
    assert code.commit(GUARD_ANSWER="1").returncode == 1


@pytest.mark.parametrize("tool", [TOOLS[0]], indirect=True, ids=str)
def test_the_fixture_of_the_framework_is_what_it_writes(code: Code, tool: HookTool) -> None:
    tool.install(code)

    written = (code.hooks / "pre-commit").read_text()
    assert _less_templated(written) == _less_templated((FOREIGN / "pre-commit.sh").read_text())


def _less_templated(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(("INSTALL_PYTHON=", "ARGS=("))]


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.name == "husky"], indirect=True, ids=str)
def test_the_fixtures_of_husky_are_what_it_writes(code: Code, tool: HookTool) -> None:
    tool.install(code)

    folder = code.top / ".husky" / "_"
    assert (folder / "h").read_bytes() == (FOREIGN / "husky-h").read_bytes()
    assert (folder / "pre-push").read_bytes() == (FOREIGN / "husky-stub").read_bytes()
