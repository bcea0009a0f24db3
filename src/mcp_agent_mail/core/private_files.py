"""Small files beside a store that this user alone may read."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_agent_mail.core.plain_files import require_no_folder


def replace_private(path: Path, text: str) -> None:
    """Whole or not at all for whoever reads it, mode 0600 from birth. Not synced: it tells what holds while this
    process runs, and the next one writes it anew.

    The caller's lock says that nobody else writes it now. What a try that was killed has left beside it goes with the
    next one. Raises UnfitPlace where a folder has its name, or that of what is beside it.
    """
    fresh = path.with_name(f".{path.name}.new")
    for place in (path, fresh):
        require_no_folder(place)
    _clear(path, fresh)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _clear(path: Path, fresh: Path) -> None:
    fresh.unlink(missing_ok=True)
    # Earlier versions named it after their process.
    for left in [*path.parent.glob(f"{path.name}.[0-9]*"), *path.parent.glob(f".{path.name}.[0-9]*")]:
        if left.suffix[1:].isdecimal():
            left.unlink(missing_ok=True)
