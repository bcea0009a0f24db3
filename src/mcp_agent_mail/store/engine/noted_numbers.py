"""What is known of the numbers that databases of a store have given out, also where none of them is there any more.

`STORAGE_ROOT/numbers.json`: written by whoever lets a store go on far above others, read by whoever does so next.
Without it a database that gave out numbers, and is then moved anywhere, would be known to nobody.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.ids import MOST_NUMBER
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.store.engine.numbers import GivenNumbers, highest_of

NOTE_FILE = "numbers.json"
_MAX_BYTES = 64 * 1024
_MAX_KINDS = 100
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_noted(storage_root: Path) -> GivenNumbers | None:
    """What the note says; None where there is none. One that nobody of us has written says nothing: a store's folder
    may be anybody's, and numbers near the end of all would leave none.
    """
    try:
        content = read_plain(str(storage_root / NOTE_FILE), _MAX_BYTES, follow=False)
        said = None if content is None else json.loads(content)
    except (UnfitFile, ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    sequences, counters = _numbers(said.get("sequences")), _numbers(said.get("counters"))
    if sequences is None or counters is None:
        return None
    return GivenNumbers(sequences=sequences, counters=counters, latest=0)


def note_given(storage_root: Path, given: GivenNumbers) -> None:
    """Note these too, beside what was noted before: whole and on disk when this returns, or not at all. The caller
    holds the store's lock. Raises OSError.
    """
    noted = read_noted(storage_root)
    highest = highest_of([given] if noted is None else [given, noted])
    if noted is not None and (noted.sequences, noted.counters) == (highest.sequences, highest.counters):
        return
    path = storage_root / NOTE_FILE
    fresh = path.with_name(f"{NOTE_FILE}.new")
    fresh.unlink(missing_ok=True)
    said = {"sequences": dict(highest.sequences), "counters": dict(highest.counters)}
    with os.fdopen(os.open(fresh, _NEW, 0o600), "w") as file:
        json.dump(said, file, indent=1, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_path(storage_root)


def _numbers(said: Any) -> dict[str, int] | None:  # noqa: ANN401  # JSON, of anybody
    if not isinstance(said, dict) or len(said) > _MAX_KINDS:
        return None
    fits = all(type(number) is int and 0 <= number <= MOST_NUMBER // 2 for number in said.values())
    return said if fits else None
