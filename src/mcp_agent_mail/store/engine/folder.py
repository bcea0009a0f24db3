"""The folder of a store: there, and this user's alone."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from shlex import quote

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.store_owner import LOCK_FILE
from mcp_agent_mail.domain.own_files import DATABASE_FILE

logger = logging.getLogger(__name__)

OWNER_ONLY = 0o700
_OTHERS = 0o077
_BEFORE_A_STORE = {"guard-spool", "starting.lock", "server.log"}
"""What the guard and a start in the background leave in a folder that has no store yet."""


class StoreOpenToOthers(Unavailable):
    """STORAGE_ROOT can be read by others, and is not ours to close."""


class ForeignLink(Unavailable):
    """A part of the store is a link that somebody else has put there."""

    recoverable = False


def require_own_links(storage_root: Path) -> None:
    """Raise ForeignLink for a link in the folder that is neither this user's, the system's, nor of whoever owns the
    folder: what is written to the store would go where it leads. Whose the store is may put a part of it elsewhere.
    """
    own = {0, os.geteuid(), storage_root.stat().st_uid}
    with os.scandir(storage_root) as entries:
        for entry in entries:
            if entry.is_symlink() and (owner := entry.stat(follow_symlinks=False).st_uid) not in own:
                raise ForeignLink(
                    f"{entry.path} is a link that user {owner} has made: what belongs to the store would be written "
                    "where it leads.",
                    hint=f"See where it leads (ls -l {quote(entry.path)}), and remove it. If that part of the store is "
                    "to lie elsewhere, make the link yourself.",
                    data={"path": entry.path, "owner": owner},
                )


def require_private_place(storage_root: Path) -> None:
    """Make the folder, mode 0700. One that is there and that others may enter is closed to them, or refused.

    Closed only where it is a store, or empty: another folder's permissions are its owner's.
    """
    storage_root.mkdir(parents=True, exist_ok=True, mode=OWNER_ONLY)
    mode = storage_root.stat().st_mode
    if not mode & _OTHERS:
        return
    found = {entry.name for entry in storage_root.iterdir()}
    # A first start that was cut off leaves the database under the name that it is made by.
    has_store = LOCK_FILE in found or any(name.startswith(DATABASE_FILE) for name in found)
    is_ours = has_store or found <= _BEFORE_A_STORE
    if is_ours:
        try:
            storage_root.chmod(stat.S_IMODE(mode) & ~_OTHERS)
        except PermissionError:
            pass
        else:
            was = stat.S_IMODE(mode)
            logger.warning("STORAGE_ROOT %s was open to other users (%o); it is closed to them now", storage_root, was)
            if (owner := storage_root.stat().st_uid) != os.geteuid():
                logger.warning("STORAGE_ROOT %s belongs to user %d, who can read it still", storage_root, owner)
            return
    why = "" if is_ours else ", and it holds other things than a store"
    raise StoreOpenToOthers(
        f"Other users may look into STORAGE_ROOT {storage_root}{why}: mail and tokens lie there.",
        hint=f"Run `chmod go-rwx {storage_root}`, or set STORAGE_ROOT to a folder of its own.",
        data={"path": str(storage_root), "mode": oct(stat.S_IMODE(mode))},
    )
