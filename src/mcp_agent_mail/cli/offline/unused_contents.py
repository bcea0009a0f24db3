"""Removes what no mail carries from beside the database, with a server or without one."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import Any

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.archiving.unused_contents import remove_unused
from mcp_agent_mail.store.engine.sqlite.migrate import require_same
from mcp_agent_mail.store.engine.sqlite.schema import open_own
from mcp_agent_mail.store.transaction import View


# Plain JSON, as `--json` prints it.
def remove_unused_offline(settings: Settings, *, dry_run: bool) -> dict[str, Any]:
    """Contents that no mail carries and nobody has touched for a day: how many, their bytes, and whether they stay.
    Raises StoreRefused for a store that is of another version: what it carries cannot be told.
    """
    require_same(settings.database_path)
    files = AttachmentFiles(settings.storage_root / ATTACHMENTS_FOLDER)
    with closing(open_own(settings.database_path)) as connection:
        attachments = View(connection, system_clock).attachments
        found = remove_unused(files, attachments.is_carried, dry_run=dry_run)
    return {**asdict(found), "dry_run": dry_run}
