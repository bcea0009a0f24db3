"""The store's lock, for commands that write without a server and are refused beside one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import gettempdir

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.store.engine.free_space import told_when_full
from mcp_agent_mail.store.engine.lock import StoreInUse, StoreLock


class StoreOccupied(Conflict):
    """A server, or another command, owns the store: this command needs it alone."""


@contextmanager
def lone_owner(settings: Settings) -> Iterator[None]:
    """Own the store meanwhile. Raises StoreOccupied, which names the process or the address of who does; and DiskFull
    where what is done within fails for want of room.
    """
    with ExitStack() as held:
        try:
            held.enter_context(StoreLock(settings.storage_root, settings.database_path))
        except StoreInUse as in_use:
            pid = in_use.data.get("pid")
            stop_it = "Stop it" if in_use.data.get("url") else "Wait until it is done, or stop it"
            raise StoreOccupied(
                in_use.message,
                hint=f"{stop_it}{f' (kill {pid})' if pid else ''}, then run this again.",
                data=in_use.data,
            ) from in_use
        with told_when_full(settings.storage_root, settings.database_path, Path(gettempdir())):
            yield
