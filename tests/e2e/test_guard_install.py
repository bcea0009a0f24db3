"""A day's work under the guard, beside the hooks that people have: real Git, a real server, the installed hooks."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import guarded_work
from tests.e2e.guarded_work import Work, hook_files
from tests.guard.code_repository import FOREIGN
from tests.served import Served

_RECORD = '#!/bin/sh\necho former >> "$RECORDS/former"\n'


def _script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def _nothing(work: Work, clone: Path) -> None:
    """No hook at all."""


def _own_hooks(work: Work, clone: Path) -> None:
    """A script, and a link to one elsewhere."""
    _script(clone / ".git" / "hooks" / "pre-commit", _RECORD)
    _script(work.folder / "check.sh", _RECORD)
    (clone / ".git" / "hooks" / "pre-push").symlink_to("../../../check.sh")


def _framework(work: Work, clone: Path) -> None:
    """The hook file of the pre-commit framework, before a stand-in of its program."""
    _script(work.folder / "bin" / "pre-commit", _RECORD)
    for hook in ("pre-commit", "pre-push"):
        _script(clone / ".git" / "hooks" / hook, (FOREIGN / "pre-commit.sh").read_text())


def _lefthook(work: Work, clone: Path) -> None:
    """The hook file of lefthook, before a stand-in of its program."""
    _script(work.folder / "bin" / "lefthook", '#!/bin/sh\n[ "$1" = run ] || exit 0\n' + _RECORD)
    text = (FOREIGN / "lefthook.sh").read_text()
    for hook in ("pre-commit", "pre-push"):
        _script(clone / ".git" / "hooks" / hook, text.replace('run "pre-commit"', f'run "{hook}"'))


def _husky(work: Work, clone: Path) -> None:
    """husky's folder as its program writes it, and core.hooksPath."""
    folder = clone / ".husky" / "_"
    folder.mkdir(parents=True)
    (folder / ".gitignore").write_text("*")
    shutil.copyfile(FOREIGN / "husky-h", folder / "h")
    for hook in ("pre-commit", "pre-push", "commit-msg"):
        _script(folder / hook, (FOREIGN / "husky-stub").read_text())
    for hook in ("pre-commit", "pre-push"):
        _script(clone / ".husky" / hook, _RECORD)
    (clone / ".git" / "info" / "exclude").write_text(".husky\n")
    work.git("config", "core.hooksPath", ".husky/_", cwd=clone)


@pytest.mark.parametrize("prepare", [_nothing, _own_hooks, _framework, _lefthook, _husky], ids=lambda way: way.__name__)
def test_a_days_work(tmp_path: Path, prepare: Callable[[Work, Path], None]) -> None:
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
        assert len(formers) == {"_nothing": 0, "_husky": 2}.get(prepare.__name__, 3)
