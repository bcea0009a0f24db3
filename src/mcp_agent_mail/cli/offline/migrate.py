"""Brings the store's schema up to date without a server; a server that runs has done so."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.gateway.known_owner import owner_with_address
from mcp_agent_mail.cli.offline.store_lock import lone_owner
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.engine.sqlite.migrate import OlderStore, migrate, require_same, shipped_migrations
from mcp_agent_mail.store.engine.sqlite.schema import require_own_schema


# Plain JSON, as `--json` prints it.
def migrate_offline(context: CliContext) -> dict[str, Any]:
    """Migrate the store if it has an older schema, and tell whether it had. Raises StoreOccupied while another command
    owns the store, StoreRefused for one that is none of ours or a newer version's.
    """
    owner = owner_with_address(context)
    if owner is not None and owner.url is not None:
        require_same(context.settings.database_path)
        return _told(context, is_migrated=False)
    with lone_owner(context.settings):
        return _told(context, is_migrated=_migrate(context))


def _migrate(context: CliContext) -> bool:
    path = context.settings.database_path
    require_own_schema(path)
    try:
        require_same(path)
    except OlderStore:
        migrate(path, fault_hook=no_fault)
        return True
    return False


# Likewise.
def _told(context: CliContext, *, is_migrated: bool) -> dict[str, Any]:
    path = str(context.settings.database_path)
    return {"database": path, "schema": shipped_migrations()[-1].version, "migrated": is_migrated}
