"""What was put aside, and is never removed unasked: `kept/`, a folder for each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.core.clock import Clock, to_datetime
from mcp_agent_mail.features.recovery.numbered_names import next_name
from mcp_agent_mail.store.engine.database_files import KEPT_FOLDER


def free_place(parent: Path, beside: Path, clock: Clock) -> Path:
    """A folder below `parent` that is not there yet, numbered after all that are kept there or `beside`."""
    others = list(_kept_names(parent, beside))
    return parent / KEPT_FOLDER / next_name(f"{to_datetime(clock()):%Y-%m-%dT%H-%M-%SZ}", others)


def _kept_names(*parents: Path) -> Iterator[str]:
    for parent in parents:
        with suppress(FileNotFoundError):
            yield from [path.name for path in (parent / KEPT_FOLDER).iterdir()]
