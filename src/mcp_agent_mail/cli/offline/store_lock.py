"""The store's lock, for commands that write without a server and are refused beside one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import gettempdir

from mcp_agent_mail.core.errors import Conflict, Unavailable
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.store_owner import SWAP_FILE, read_owner
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER
from mcp_agent_mail.store.engine.free_space import told_when_full
from mcp_agent_mail.store.engine.lock import StoreInUse


class StoreOccupied(Conflict):
    """A server, or another command, owns the store: this command needs it alone."""


class StoreInSwap(Unavailable):
    """Another command put another store in place while this one read it."""


@contextmanager
def told_when_replaced(settings: Settings) -> Iterator[None]:
    """For who reads a store beside others. Raises StoreInSwap for what Git says of archives that were taken away
    meanwhile.
    """
    before = _identity(settings)
    try:
        yield
    except GitFailed as failed:
        is_swapping = (settings.storage_root / SWAP_FILE).exists()
        if not is_swapping and _identity(settings) == before:
            raise
        owner = read_owner(settings.storage_root)
        by_whom = f" by process {owner.pid}" if owner is not None and owner.pid else ""
        raise StoreInSwap(
            f"The store in {settings.storage_root} is being replaced{by_whom}, or just was; nothing was made of it.",
            hint="Run it again once that is done.",
            data={"storage_root": str(settings.storage_root)},
        ) from failed


def _identity(settings: Settings) -> tuple[tuple[int, int] | None, ...]:
    """Which files of the disk the database and the folder of archives are."""
    return tuple(_inode(path) for path in (settings.database_path, settings.storage_root / PROJECTS_FOLDER))


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def told_without_room(settings: Settings, *places: Path) -> Iterator[None]:
    """For every command that writes, be it a lock or a temporary file. Raises DiskFull for what fails for want of room
    on the disk of the store, of temporary files, or of one of these other `places`.
    """
    with told_when_full(settings.storage_root, settings.database_path, Path(gettempdir()), *places):
        yield


@contextmanager
def lone_owner(settings: Settings) -> Iterator[None]:
    """Own the store meanwhile. Raises StoreOccupied, which names the process or the address of who does; and DiskFull
    where that, or what is done within, fails for want of room.
    """
    # 0.6 s, which who only reads need not pay.
    from mcp_agent_mail.bootstrap.owned_store import owned_store

    with told_without_room(settings, settings.backup_dir), ExitStack() as held:
        try:
            held.enter_context(owned_store(settings))
        except StoreInUse as in_use:
            raise StoreOccupied(
                in_use.message,
                hint=f"{_until_free(in_use)}, then run this again.",
                data=in_use.data,
            ) from in_use
        yield


def _until_free(in_use: StoreInUse) -> str:
    """A process whose address is not known may be a server that others use: it is not for us to end it."""
    pid = in_use.data.get("pid")
    if in_use.data.get("url"):
        return f"Stop it{f' (kill {pid})' if pid else ''}"
    return "Wait until it is done; if it is a server, stop it where it was started"
