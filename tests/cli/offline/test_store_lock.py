from __future__ import annotations

import errno
import os

import pytest

from mcp_agent_mail.cli.offline.store_lock import StoreInSwap, StoreOccupied, lone_owner, told_when_replaced
from mcp_agent_mail.core.disk_space import DiskFull
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.cli.shell import Shell


def test_whoever_has_the_store_is_named_with_how_to_go_on(at_stopped: Shell) -> None:
    settings = at_stopped.context().settings
    in_process = f"(kill {os.getpid()})"

    with StoreLock(settings.storage_root, settings.database_path) as lock:
        with pytest.raises(StoreOccupied, match=f"in use by process {os.getpid()}") as at_work, lone_owner(settings):
            pass
        lock.announce("http://127.0.0.1:1")
        with pytest.raises(StoreOccupied, match="which serves http") as serving, lone_owner(settings):
            pass

    assert at_work.value.hint == (
        "Wait until it is done; if it is a server, stop it where it was started, then run this again."
    )
    assert serving.value.hint == f"Stop it {in_process}, then run this again."
    with lone_owner(settings), pytest.raises(StoreOccupied), lone_owner(settings):
        pass


def test_want_of_room_meanwhile_names_the_disk(at_stopped: Shell) -> None:
    with pytest.raises(DiskFull, match="is full"), lone_owner(at_stopped.context().settings):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_git_says_while_the_store_is_replaced_is_told_as_that_and_else_as_it_is(at_stopped: Shell) -> None:
    settings = at_stopped.context().settings
    with pytest.raises(GitFailed), told_when_replaced(settings):
        raise GitFailed("not a tree object")

    def read_while_it_goes() -> None:
        with told_when_replaced(settings):
            (settings.storage_root / "projects").rename(settings.storage_root / "undo")
            raise GitFailed("not a tree object")

    with pytest.raises(StoreInSwap, match="is being replaced"):
        read_while_it_goes()
