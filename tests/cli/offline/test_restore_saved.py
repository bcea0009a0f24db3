from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.cli.offline.restore_saved import UnfitPair, restore_offline
from mcp_agent_mail.cli.offline.saved_archives import save_offline
from mcp_agent_mail.cli.offline.store_lock import StoreOccupied
from mcp_agent_mail.domain.projects import UnfitPath
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
        mappings=[f"{project}=./a=b"],
        unpacking=_silent,
        rebuilding=_silent,
    )

    assert made["mapped"] == [{"old": project, "new": str(tmp_path / "a=b")}]
    assert (made["path"], made["messages"]) == (str(tmp_path / "new"), 3)


@pytest.mark.parametrize(("pair", "refusal"), [("shop", UnfitPair), ("=", UnfitPair), ("shop=/new", UnfitPath)])
def test_a_pair_that_is_none_is_refused(at_stopped: Shell, tmp_path: Path, pair: str, refusal: type[Exception]) -> None:
    settings = at_stopped.context().settings

    with pytest.raises(refusal):
        restore_offline(settings, tmp_path / "s.tar", into=None, mappings=[pair], unpacking=_silent, rebuilding=_silent)


def test_beside_whoever_holds_the_store_nothing_is_restored(at_stopped: Shell, tmp_path: Path) -> None:
    settings = at_stopped.context().settings

    with StoreLock(settings.storage_root, settings.database_path), pytest.raises(StoreOccupied, match="process"):
        restore_offline(settings, tmp_path / "s.tar", into=None, mappings=[], unpacking=_silent, rebuilding=_silent)
