"""A private copy of the store, for what is to be tried and not kept: what is tried there is what would be done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.gateway.in_process import InProcessGateway
from mcp_agent_mail.core.disk_space import free_bytes
from mcp_agent_mail.store.engine.sqlite.database_copy import copy_database
from mcp_agent_mail.store.engine.sqlite.migrate import require_current
from mcp_agent_mail.store.foreign.private_folder import private_folder

_DATABASE = "mail.sqlite3"
_SPARE = 256 << 20
"""So much must be left beside the copy, for what is written into it."""


def can_rehearse(context: CliContext) -> bool:
    """Whether the store that is meant lies here: not where AGENT_MAIL_URL names a server, or none is here."""
    return context.named_url() is None and context.store_exists()


@contextmanager
def open_rehearsal(context: CliContext) -> Iterator[InProcessGateway | None]:
    """Tools over a copy that is gone at the end, whether a server has the store or not; nothing of it gets into Git.
    None where the disk of temporary files has no room for one. Raises what opening a store raises.
    """
    settings = context.settings
    # Of the store itself: what is said of it names its place.
    require_current(settings.database_path)
    with private_folder() as folder:
        if free_bytes(folder) < _size(settings.database_path) + _SPARE:
            yield None
            return
        # Below the folder: who has a store locks its root, and that one is locked.
        root = folder / "store"
        root.mkdir(mode=0o700)
        database = root / _DATABASE
        copy_database(settings.database_path, database, pause_s=0)
        copied = replace(settings, storage_root=root, database_url=f"sqlite:///{database}")
        gateway = InProcessGateway(copied, is_rehearsal=True)
        gateway.open()
        try:
            yield gateway
        finally:
            gateway.close()


def _size(database: Path) -> int:
    """With its log, of which a copy has what counts."""
    return sum(one.stat().st_size for one in (database, Path(f"{database}-wal")) if one.exists())
