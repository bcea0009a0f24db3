"""What was put aside, and is never removed unasked: `kept/`, a folder for each time."""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex

from mcp_agent_mail.core.clock import Clock, to_datetime
from mcp_agent_mail.store.engine.database_files import KEPT_FOLDER


def free_place(parent: Path, clock: Clock) -> Path:
    """A folder below `parent` that is not there yet, named by the time."""
    return parent / KEPT_FOLDER / f"{to_datetime(clock()):%Y-%m-%dT%H-%M-%SZ}-{token_hex(2)}"
