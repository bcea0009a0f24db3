"""A day's work under the real guard and a real server, beside the real programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import guarded_work
from tests.e2e.guarded_work import Work, hook_files
from tests.guard.code_repository import Code
from tests.hooks.tools import TOOLS, HookTool
from tests.served import Served

pytestmark = pytest.mark.hooks


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_days_work(tmp_path: Path, tool: HookTool) -> None:
    def prepare(work: Work, clone: Path) -> None:
        code = Code(top=clone, home=work.folder, records=work.records)
        if clone == work.one:
            tool.configure(code)
            work.git("add", ".", cwd=clone)
            work.git("commit", "--quiet", "-m", "the tool's configuration", cwd=clone)
            work.git("push", "--quiet", "origin", "main", cwd=clone)
        else:
            work.git("pull", "--quiet", cwd=clone)
        tool.install(code)

    with Served(tmp_path / "store") as server:
        work = guarded_work.begin(tmp_path, server, prepare)
        before = {clone: hook_files(clone) for clone in (work.one, work.two)}
        guarded_work.install_everywhere(work)

        guarded_work.commits_are_judged(work)
        formers = work.told()
        guarded_work.a_rename_counts_for_both_names(work)
        guarded_work.a_merge_and_a_rebase_bring_the_other_side(work)
        guarded_work.pushes_are_judged(work)
        guarded_work.the_server_goes_down(work)
        guarded_work.the_guard_goes(work)

        assert {clone: hook_files(clone) for clone in (work.one, work.two)} == before
        # Two commits and one past the guard; husky has written nothing into the linked work tree.
        assert len(formers) == (2 if tool.name == "husky" else 3)
