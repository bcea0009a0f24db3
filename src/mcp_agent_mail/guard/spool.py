"""What the guard did, told to the server, or left on disk for its next start or minute."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.core.running_server import GUARD_EVENTS, Deadline, NoAnswer, Refused, RunningServer

if TYPE_CHECKING:
    from mcp_agent_mail.core.running_server import Json

SPOOL_FOLDER = "guard-spool"
MAX_FILES = 1_000
MAX_EVENT_BYTES = 16 * 1024

_SUFFIX = ".json"


class NotRecorded(Exception):
    """Neither the server nor the disk took the event. The text says why."""


def record(event: Mapping[str, Json], server: RunningServer | None, patience: Deadline, storage_root: Path) -> None:
    """Tell the server while there is time, else leave a file. Raises NotRecorded."""
    if server is not None:
        with suppress(NoAnswer, Refused):
            server.ask(GUARD_EVENTS, {"events": [event]}, patience)
            return
    try:
        _leave(event, storage_root)
    except OSError as failed:
        raise NotRecorded(f"{storage_root}: {failed.strerror}") from failed


def read_spooled(storage_root: Path) -> list[dict[str, Json]]:
    """What waits for a server, in no order. Looking takes nothing away; a file that cannot be read is left out."""
    found = []
    for file in (storage_root / SPOOL_FOLDER).glob(f"*{_SUFFIX}"):
        with suppress(UnfitFile, ValueError, RecursionError):
            event = json.loads(read_plain(str(file), MAX_EVENT_BYTES, follow=False) or b"")
            if isinstance(event, dict) and isinstance(event.get("ts"), str):
                found.append(event)
    return found


def _leave(event: Mapping[str, Json], storage_root: Path) -> None:
    """Whole or not at all, for this user alone."""
    folder = storage_root / SPOOL_FOLDER
    for place in (storage_root, folder):  # Only the last folder of a path that is made gets the mode.
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    if sum(name.endswith(_SUFFIX) for name in os.listdir(folder)) >= MAX_FILES:  # noqa: PTH208  # a name is enough
        raise NotRecorded(f"{folder} holds {MAX_FILES} events already; a server takes them in when it starts")
    content = json.dumps(event).encode()
    if len(content) > MAX_EVENT_BYTES:
        raise NotRecorded(f"the event has more than {MAX_EVENT_BYTES >> 10} KiB")
    unfinished = folder / f".{event['event_key']}.{os.getpid()}"
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        unfinished.replace(folder / f"{event['event_key']}{_SUFFIX}")
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
