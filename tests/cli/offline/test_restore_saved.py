from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.cli.offline.restore_saved import UnfitPair, read_pair, restore_offline
from mcp_agent_mail.cli.offline.saved_archives import save_offline
from mcp_agent_mail.cli.offline.store_lock import StoreOccupied
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.cli.shell import Shell


def _silent(done: int, total: int) -> None:
    assert done <= total


def test_a_file_is_restored_into_a_folder_and_a_relative_path_is_taken_from_here(
    at_stopped: Shell, tmp_path: Path
) -> None:
    context = at_stopped.context()
    project = str(context.settings.agent_mail_project)
    save_offline(context, tmp_path / "s.tar", [], progress=_silent)
    at_stopped.go_to(tmp_path)

    made = restore_offline(
        context.settings,
        tmp_path / "s.tar",
        into=tmp_path / "new",
        new_paths=[read_pair(f"{project}=./a=b")],
        unpacking=_silent,
        rebuilding=_silent,
    )

    assert made["mapped"] == [{"old": project, "new": str(tmp_path / "a=b")}]
    assert (made["path"], made["messages"]) == (str(tmp_path / "new"), 3)


@pytest.mark.parametrize("pair", ["shop", "=", "shop=/new", "/old=new", "/old=/n\0"])
def test_a_pair_that_is_none_is_refused_and_says_of_what_paths_one_is(pair: str) -> None:
    with pytest.raises(UnfitPair) as refused:
        read_pair(pair)

    assert "Both are absolute paths" in refused.value.hint


def test_a_pair_that_is_none_is_misuse_of_the_command(at_stopped: Shell) -> None:
    done = at_stopped.am("archive", "restore", "s.tar", "--map", "shop=x")

    assert done.code == 2
    assert "Both are absolute paths" in done.err


def test_beside_whoever_holds_the_store_nothing_is_restored(at_stopped: Shell, tmp_path: Path) -> None:
    settings = at_stopped.context().settings

    with StoreLock(settings.storage_root, settings.database_path), pytest.raises(StoreOccupied, match="process"):
        restore_offline(settings, tmp_path / "s.tar", into=None, new_paths=[], unpacking=_silent, rebuilding=_silent)
