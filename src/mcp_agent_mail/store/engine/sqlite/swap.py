"""Puts what was built aside in the place of what is there, all of it or none, whenever the process ends.

What is to move is written down first, durably; then each thing is renamed, and what was written down goes last. Each
step can be told from what lies on the disk, so an interrupted swap is only ever finished, never taken back: whoever
takes the store's lock does that before anything else. Nothing is copied: built, place and kept are in one file system.
What is written down is obeyed only as far as our own writers write it (`swap_places`).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.file_sync import sync_path, sync_tree
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.store.engine.sqlite.swap_places import Move, SwapPlaces

_VERSION = 1
_MAX_JOURNAL_BYTES = 4 * 1024 * 1024
_MAX_MOVES = 1_000
_MAX_PATH = 4_096
_OWNER_ONLY = 0o700
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class SwapUnfinished(Unavailable):
    """Part of the store has moved and the rest cannot: until it can, the store is not to be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedReset:
    """A swap that empties the store: which file has its mail, None where nothing was saved."""

    saved: Path | None


OnReset = Callable[[], None]


def nothing_beside() -> None:
    """Nothing tells of the store but itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Journal:
    moves: Sequence[Move]
    leftovers: Sequence[Path]
    reset: NotedReset | None = None


def swap(
    places: SwapPlaces,
    moves: Sequence[Move],
    *,
    leftovers: Sequence[Path] = (),
    reset: NotedReset | None = None,
    on_reset: OnReset = nothing_beside,
    fault_hook: FaultHook = no_fault,
) -> None:
    """Once this returns all of `moves` are done, and survive a loss of power. The caller holds the store's lock.

    `leftovers`: files and folders that nobody needs then; whoever finishes the swap removes them, as far as it can.
    `reset`: what `noted_reset` tells of the swap until then; `on_reset` as `finish_swap` takes it.

    On OSError and SwapRefused, which come before the first rename, nothing has moved; later (SwapUnfinished)
    `finish_swap` goes on. What was built is synced here.
    """
    journal = places.journal
    _require_fit(journal, moves)
    # Whoever finishes it asks the same.
    places.require_ours(moves, leftovers)
    for move in moves:
        if move.built is not None:
            sync_tree(move.built)
            _sync_names(move.built, places)
        _make_folder(move.kept.parent, places)
        _make_folder(move.place.parent, places)
        _require_one_file_system(move, places)
    _write_journal(places, _Journal(moves=moves, leftovers=leftovers, reset=reset))
    fault_hook(FailPoint.SWAP_BEGUN)
    finish_swap(places, on_reset=on_reset, fault_hook=fault_hook)


def finish_swap(places: SwapPlaces, *, on_reset: OnReset = nothing_beside, fault_hook: FaultHook = no_fault) -> bool:
    """Do what is left of an interrupted swap; was there one? The caller holds the store's lock. `on_reset` takes away
    what tells of a store that is emptied and is no part of it: called as long as the journal is there, so maybe again.

    Raises SwapUnfinished where that cannot be done; what has moved stays there, and the next call goes on. Raises
    SwapRefused for a journal that names anything but this store's own parts, and touches nothing.
    """
    journal = places.journal
    found = _read_journal(places)
    if found is None:
        journal.with_name(f"{journal.name}.new").unlink(missing_ok=True)
        return False
    places.require_ours(found.moves, found.leftovers)
    if noted_reset(journal) is not None:
        on_reset()
    try:
        for move in found.moves:
            _do(move, places, fault_hook)
        fault_hook(FailPoint.SWAP_PLACED)
        for path in found.leftovers:
            _remove(path)
        journal.unlink()
        _sync_folder(journal.parent, places)
    except OSError as failed:
        raise _unfinished(journal, f"{failed.strerror}: {failed.filename}") from failed
    return True


def noted_reset(journal: Path) -> NotedReset | None:
    """What the journal of an interrupted reset says of it, to be told and not obeyed; None of any other swap, and where
    there is none, or none to be read.
    """
    try:
        content = read_plain(str(journal), _MAX_JOURNAL_BYTES, follow=False)
        noted = None if content is None else json.loads(content).get("reset")
        if noted is None:
            return None
        saved = noted["saved"]
        is_told = isinstance(saved, str) and len(saved) <= _MAX_PATH and saved.isprintable()
        return NotedReset(saved=Path(saved) if is_told else None)
    except (UnfitFile, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _sync_folder(folder: Path, places: SwapPlaces) -> None:
    sync_path(folder, follow=places.may_be_link(folder))


def _sync_names(path: Path, places: SwapPlaces) -> None:
    """Of the folders that lead to it too: what was built and is not there counts as put in place."""
    for folder in path.parents:
        _sync_folder(folder, places)
        if places.may_be_link(folder):
            break


def _do(move: Move, places: SwapPlaces, fault_hook: FaultHook) -> None:
    """What is at `built` was not put in place yet; what is at `kept` was taken away already."""
    if move.built is not None and not os.path.lexists(move.built):
        return
    if os.path.lexists(move.place):
        if os.path.lexists(move.kept):
            if move.built is None:
                return
            raise FileExistsError(0, f"something else was put there, beside {move.kept}", str(move.place))
        _rename(move.place, move.kept, places)
        fault_hook(FailPoint.SWAP_KEPT)
    if move.built is not None:
        _rename(move.built, move.place, places)
        fault_hook(FailPoint.SWAP_MOVED)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _rename(source: Path, target: Path, places: SwapPlaces) -> None:
    """And make it last: first that it is there, then that it is not here any more."""
    source.rename(target)
    _sync_folder(target.parent, places)
    if source.parent != target.parent:
        _sync_folder(source.parent, places)


def _require_fit(journal: Path, moves: Sequence[Move]) -> None:
    assert not os.path.lexists(journal), "whoever took the lock has finished the last one"
    assert len(moves) <= _MAX_MOVES, len(moves)
    for move in moves:
        assert all(path.is_absolute() for path in move.paths), move
        assert not os.path.lexists(move.kept), move
        assert move.built is None or os.path.lexists(move.built), move
    assert len({path for move in moves for path in (move.place, move.kept)}) == 2 * len(moves), moves


def _require_one_file_system(move: Move, places: SwapPlaces) -> None:
    """A mount on the way would end the swap in its middle."""
    sources = [path for path in (move.place, move.built) if path is not None and os.path.lexists(path)]
    folders = (move.kept.parent, move.place.parent)
    devices = {os.lstat(path).st_dev for path in sources}
    devices |= {os.stat(path, follow_symlinks=places.may_be_link(path)).st_dev for path in folders}  # noqa: PTH116
    if len(devices) > 1:
        raise OSError(0, "lies in another file system than what it is to be swapped with", str(move.place))


def _make_folder(folder: Path, places: SwapPlaces) -> None:
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=_OWNER_ONLY, exist_ok=True)
        _sync_folder(path.parent, places)


def _write_journal(places: SwapPlaces, written: _Journal) -> None:
    journal = places.journal
    fresh = journal.with_name(f"{journal.name}.new")
    fresh.unlink(missing_ok=True)
    listed = [
        {"place": str(move.place), "built": str(move.built) if move.built else None, "kept": str(move.kept)}
        for move in written.moves
    ]
    value = {"version": _VERSION, "moves": listed, "leftovers": [str(path) for path in written.leftovers]}
    if written.reset is not None:
        value["reset"] = {"saved": None if written.reset.saved is None else str(written.reset.saved)}
    try:
        with os.fdopen(os.open(fresh, _NEW, 0o600), "w", encoding="ascii") as file:
            file.write(json.dumps(value, indent=1))
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(journal)
        _sync_folder(journal.parent, places)
    except BaseException:
        # Whoever is told that nothing has moved does not find it moved later.
        fresh.unlink(missing_ok=True)
        journal.unlink(missing_ok=True)
        raise


def _read_journal(places: SwapPlaces) -> _Journal | None:
    journal = places.journal
    try:
        content = read_plain(str(journal), _MAX_JOURNAL_BYTES, follow=False)
        if content is None:
            return None
        found = json.loads(content)
        if found["version"] != _VERSION:
            raise _unfinished(journal, f"it is of version {found['version']}, of another version of this program")
        leftovers = [places.by_own_name(Path(path)) for path in found["leftovers"]]
        return _Journal(moves=list(_moves(found["moves"], places)), leftovers=leftovers)
    except (UnfitFile, ValueError, KeyError, TypeError, RecursionError) as unreadable:
        raise _unfinished(journal, f"it cannot be read: {unreadable}") from unreadable


def _moves(listed: Sequence[dict[str, str | None]], places: SwapPlaces) -> Iterator[Move]:
    for one in listed:
        place, built, kept = one["place"], one["built"], one["kept"]
        if not place or not kept:
            raise ValueError("a place without a name")
        yield Move(
            place=places.by_own_name(Path(place)),
            built=places.by_own_name(Path(built)) if built else None,
            kept=places.by_own_name(Path(kept)),
        )


def _unfinished(journal: Path, why: str) -> SwapUnfinished:
    return SwapUnfinished(
        f"The store is being replaced by another one, as {journal} says, and that cannot go on: {why}.",
        hint="Mend what stands in the way, and run the command again: it goes on by itself. Nothing is lost: each "
        "thing lies where that file says that it was built, where it belongs, or where it is kept.",
        data={"journal": str(journal)},
    )
