"""What was put aside: `kept/`, a folder for each time. Of it the oldest databases alone are removed, by a rebuild that
keeps another one there, and says so; all else stays until somebody removes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.core.clock import Clock, to_datetime
from mcp_agent_mail.features.recovery.numbered_names import next_name, oldest_first
from mcp_agent_mail.store.engine.sqlite.database_files import database_files, kept_folder, remove_database

KEPT_MOST = 3
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-(?:[0-9a-f]{4}|n\d{1,15})")


def free_place(parent: Path, beside: Path, clock: Clock) -> Path:
    """A folder below `parent` that is not there yet, numbered after all that are kept there or `beside`."""
    others = list(_kept_names(parent, beside))
    return kept_folder(parent) / next_name(f"{to_datetime(clock()):%Y-%m-%dT%H-%M-%SZ}", others)


def remove_oldest_databases(folder: Path, name: str, *, new: Path) -> tuple[Path, ...]:
    """Of the folder `kept/` remove the oldest databases `name` that a rebuild has put there, beyond KEPT_MOST, and
    nothing else: an archive may be the last one there is. What was just kept (`new`) stays. Which ones are gone.
    """
    removed = list[Path]()
    with suppress(OSError):
        ours = [path for path in folder.iterdir() if _STAMP.fullmatch(path.name) and not path.is_symlink()]
        holding = oldest_first(
            path for path in ours if any(os.path.lexists(one) for one in database_files(path / name))
        )
        for path in (path for path in holding[:-KEPT_MOST] if path != new):
            remove_database(path / name)
            removed.append(path / name)
            with suppress(OSError):
                path.rmdir()  # Archives stay.
    return tuple(removed)


def _kept_names(*parents: Path) -> Iterator[str]:
    for parent in parents:
        with suppress(FileNotFoundError):
            yield from [path.name for path in kept_folder(parent).iterdir()]
