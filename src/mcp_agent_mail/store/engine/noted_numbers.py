"""What is known of the numbers that databases of a store have given out, also where none of them is there any more.

`STORAGE_ROOT/numbers.json`: written by whoever lets a store go on far above others, read by whoever does so next.
Without it a database that gave out numbers, and is then moved anywhere, would be known to nobody.

A store's folder may be anybody's, and what was put in place a stranger's. So the note is of one store, and of each kind
it says nothing that is out of reach of the database that it is read for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.ids import MOST_TAKEN_OVER
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.store.engine.sqlite.numbers import COUNTERS, SEQUENCES, GivenNumbers, highest_of, within_reach

NOTE_FILE = "numbers.json"
_NEW_FILE = f"{NOTE_FILE}.new"
_MAX_BYTES = 64 * 1024
_MAX_KINDS = 100
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_TIME = Micros(0)


class NoteFailed(Conflict):
    """The note of the store's numbers cannot be written: something stands in its place."""


def read_noted(storage_root: Path, store_id: str, own: GivenNumbers) -> GivenNumbers | None:
    """What the note says of this store, as far as a database with its `own` numbers may go on above it; None where
    there is none. One that nobody of us has written says nothing, and neither does another store's.
    """
    noted = _read(storage_root, store_id)
    return None if noted is None else within_reach(noted, own, _NO_TIME)


def note_given(storage_root: Path, store_id: str, given: GivenNumbers, *, replaced: GivenNumbers | None = None) -> None:
    """Note what the store's database gives out, beside what was noted before: whole and on disk when this returns, or
    not at all. The caller holds the store's lock. Raises NoteFailed.

    `replaced`: of the database whose place it takes. What is out of reach of all that is noted, or of that one where
    nothing is, is a stranger's, and is not noted; what was noted out of reach of `given` goes.
    """
    noted = _read(storage_root, store_id)
    known = replaced if noted is None else noted
    near = given if known is None else within_reach(given, known, _NO_TIME)
    before = [] if noted is None else [within_reach(noted, given, _NO_TIME)]
    highest = _fit(highest_of([near, *before]))
    if noted is not None and (noted.sequences, noted.counters) == (highest.sequences, highest.counters):
        return
    try:
        _write(storage_root, store_id, highest)
    except OSError as failed:
        raise NoteFailed(
            f"The numbers that the store has given out cannot be noted in {storage_root / NOTE_FILE}: {failed}.",
            hint=f"Move away what lies there as {NOTE_FILE} or {_NEW_FILE} (ls -ld {storage_root / NOTE_FILE}*), "
            "and let the folder be writable; then run it again.",
            data={"path": str(storage_root / NOTE_FILE)},
        ) from failed


def flaw_of_note(storage_root: Path) -> str | None:
    """Why the note can be neither read nor written; None where it is as it should be, or not there."""
    path, fresh = storage_root / NOTE_FILE, storage_root / _NEW_FILE
    if fresh.is_dir() and not fresh.is_symlink():
        return f"{fresh} is a folder: the note cannot be written"
    try:
        content = read_plain(str(path), _MAX_BYTES, follow=False)
        is_note = content is None or isinstance(json.loads(content), dict)
    except UnfitFile as unfit:
        return unfit.message
    except (ValueError, RecursionError):
        is_note = False
    return None if is_note else f"{path} is no note of this program"


def _read(storage_root: Path, store_id: str) -> GivenNumbers | None:
    try:
        content = read_plain(str(storage_root / NOTE_FILE), _MAX_BYTES, follow=False)
        said = None if content is None else json.loads(content)
    except (UnfitFile, ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("store_id") != store_id:
        return None
    sequences, counters = _numbers(said.get("sequences"), SEQUENCES), _numbers(said.get("counters"), COUNTERS)
    if sequences is None or counters is None:
        return None
    return GivenNumbers(sequences=sequences, counters=counters, latest=0)


def _write(storage_root: Path, store_id: str, given: GivenNumbers) -> None:
    path, fresh = storage_root / NOTE_FILE, storage_root / _NEW_FILE
    fresh.unlink(missing_ok=True)
    said = {"store_id": store_id, "sequences": dict(given.sequences), "counters": dict(given.counters)}
    with os.fdopen(os.open(fresh, _NEW, 0o600), "w") as file:
        json.dump(said, file, indent=1, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    try:
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    sync_path(storage_root)


def _fit(given: GivenNumbers) -> GivenNumbers:
    """Nothing that is not read again."""
    return GivenNumbers(
        sequences={name: min(seq, MOST_TAKEN_OVER) for name, seq in given.sequences.items() if name in SEQUENCES},
        counters={name: min(value, MOST_TAKEN_OVER) for name, value in given.counters.items() if name in COUNTERS},
        latest=0,
    )


def _numbers(said: Any, known: Collection[str]) -> dict[str, int] | None:  # noqa: ANN401  # JSON, of anybody
    if not isinstance(said, dict) or len(said) > _MAX_KINDS:
        return None
    fits = all(type(number) is int and 0 <= number <= MOST_TAKEN_OVER for number in said.values())
    return {name: number for name, number in said.items() if name in known} if fits else None
