"""Empties the store of these settings without a server, once its archives were saved."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.offline.saved_archives import list_offline, save_offline
from mcp_agent_mail.cli.offline.store_lock import lone_owner
from mcp_agent_mail.core.clock import Clock, system_clock, to_datetime
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.failpoints import FaultHook, no_fault
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.store_owner import OWNER_FILE
from mcp_agent_mail.domain.own_files import SAVING
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.numbered_names import next_name
from mcp_agent_mail.features.recovery.rebuilt_store import Told, give_pending
from mcp_agent_mail.features.recovery.replaced_store import why_unread
from mcp_agent_mail.features.recovery.reset import empty, is_empty, what_stays
from mcp_agent_mail.features.recovery.save import NothingSaved
from mcp_agent_mail.features.recovery.scratch import remove_left
from mcp_agent_mail.notify.signal_files import has_any_signals, remove_signals

_PREFIX = "reset-"
_SUFFIX = ".tar"
_OWNER_ONLY = 0o700


class NotSaved(Conflict):
    """What the store has cannot be saved as a whole, so it stays."""


def is_finished(context: CliContext) -> bool:
    """Before anybody is asked: was there an interrupted reset, which is finished now with all that belongs to it, so
    that nothing is left to empty? Raises StoreOccupied beside a server, and NoServer where there is no store.
    """
    place = _place(context.settings)
    # The lock's last holder was killed where it names one still.
    is_half = context.is_being_swapped() or os.path.lexists(context.storage_root / OWNER_FILE)
    if is_half:
        with lone_owner(context.settings):
            pass
    if not is_empty(place):
        return False
    signals_dir = context.settings.notifications_signals_dir
    has_signals = has_any_signals(signals_dir, context.storage_root)
    if has_signals:
        with lone_owner(context.settings):
            if not is_empty(place):
                return False
            remove_signals(signals_dir, context.storage_root)
    if is_half or has_signals:
        return True
    raise NoServer(
        f"There is no store in {context.storage_root}: nothing to empty.", hint="Look at STORAGE_ROOT: am config show"
    )


def newest_saved(folder: Path) -> Path | None:
    """The file that the last reset has saved in BACKUP_DIR; None where there is none."""
    saved = [path for path in folder.glob(f"{_PREFIX}*{_SUFFIX}") if path.is_file()]
    return max(saved, key=lambda path: (path.stat().st_mtime_ns, path.name), default=None)


# Plain JSON, as `--json` prints it.
def reset_offline(
    context: CliContext,
    *,
    saves: bool,
    told: Told,
    clock: Clock = system_clock,
    fault_hook: FaultHook = no_fault,
) -> dict[str, Any]:
    """Save all archives to BACKUP_DIR, unless told not to, and check that file; then empty the store. Raises
    StoreOccupied, NotSaved and what `save` raises, and the store is as it was.
    """
    settings = context.settings
    place = _place(settings)
    with lone_owner(settings):
        saved = _save(context, told, clock) if saves else None
        stays = what_stays(place)
        saved_in = None if saved is None else Path(saved["file"])
        empty(
            place,
            clock,
            saved=saved_in,
            on_reset=lambda: remove_signals(settings.notifications_signals_dir, settings.storage_root),
            fault_hook=fault_hook,
        )
    return {
        "path": str(settings.storage_root),
        "archive": None if saved is None else saved["file"],
        "sha256": None if saved is None else saved["sha256"],
        "projects": 0 if saved is None else len(saved["projects"]),
        "stays": [str(path) for path in stays],
    }


# Likewise; None where no archive has begun, so there is no mail.
def _save(context: CliContext, told: Told, clock: Clock) -> dict[str, Any] | None:
    settings = context.settings
    database = settings.database_path
    if os.path.lexists(database) and (why := why_unread(database)) is not None:
        raise NotSaved(
            f"Not all that is in the store can be saved. {why}",
            hint="am doctor rebuild makes a database of the archives alone, then run this again. To let go of all of "
            "it: am reset --no-archive",
            data={"database": str(database)},
        )
    asyncio.run(give_pending(archiver_settings(settings), without=(), progress=told("giving Git what waits")))
    target = _target(settings.backup_dir, clock)
    try:
        saved = save_offline(context, target, (), progress=told("saving archives"))
    except NothingSaved:
        return None
    list_offline(target, progress=told("checking the saved file"))
    return saved


def _target(folder: Path, clock: Clock) -> Path:
    """A name that is free. What a reset that was killed while it saved has left there goes."""
    folder.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
    for left in folder.glob(f".{_PREFIX}*{_SUFFIX}.{SAVING}"):
        remove_left(left)
    others = (path.name.removesuffix(_SUFFIX) for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"))
    return folder / f"{_PREFIX}{next_name(to_datetime(clock()).strftime('%Y-%m-%dT%H%M%SZ'), others)}{_SUFFIX}"


def _place(settings: Settings) -> StorePlace:
    return StorePlace(storage_root=settings.storage_root, database_path=settings.database_path)
