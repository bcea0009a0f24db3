"""The store's lock, as whoever works on the store of these settings takes it."""

from __future__ import annotations

from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.notify.signal_files import remove_signals
from mcp_agent_mail.store.engine.lock import StoreLock


def owned_store(settings: Settings) -> StoreLock:
    """Whoever enters it owns the store. It finishes a reset that was interrupted with all that belongs to it."""
    return StoreLock(
        settings.storage_root,
        settings.database_path,
        on_reset=lambda: remove_signals(settings.notifications_signals_dir, settings.storage_root),
    )
