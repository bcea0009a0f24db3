"""A store that can only be read, however a command comes to feel it: told in one way, with a next step."""

from __future__ import annotations

from mcp_agent_mail.cli.context import read_settings
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.store.engine.sqlite.faults import StoreUnwritable, may_be_unwritable, told_unwritable


def told_unwritable_store(error: BaseException) -> StoreUnwritable | None:
    """What to show for an error that the settings' store causes by not being writable; None for any other."""
    if not may_be_unwritable(error):
        return None
    try:
        settings = read_settings().settings
    except AgentMailError:
        return None
    return told_unwritable(error, settings.storage_root, settings.database_path)
