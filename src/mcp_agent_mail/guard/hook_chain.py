"""A hook of ours in front of the one that was there, in the same folder.

The former hook is moved beside it, with its bytes, mode and kind (a link stays a link), and runs after ours.
Nothing here overwrites a file that is not ours, unless the same tool has written a newer one.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.guard.hook_shim import Kind, kind_of, lies_at, supersedes, write_shim

FORMER_SUFFIX = ".before-agent-mail"
MOVED_SUFFIXES = (".legacy", ".old")
"""Where the pre-commit framework and lefthook put a hook that they find."""


class HookInTheWay(Conflict):
    """Somebody's own file lies where ours would have to go, and it is not ours to move."""


class Change(StrEnum):
    """What an installation did: the words of the wire contract."""

    INSTALLED = "installed"
    CHAINED = "chained"
    UNCHANGED = "unchanged"


def former_of(path: Path) -> Path:
    """Where the hook lies that was at `path` before ours."""
    return path.with_name(path.name + FORMER_SUFFIX)


def require_room(path: Path) -> None:
    """Raises HookInTheWay where `chain` could not go on without harm; changes nothing."""
    kind, former = kind_of(path), former_of(path)
    if kind is Kind.CHANGED:
        raise HookInTheWay(
            f"{path} was written by `am guard install` and changed by somebody since.",
            hint=f"Move {path} away, then install again; what was added to it can stand in a hook of its own.",
            data={"path": str(path)},
        )
    is_moved = any(kind_of(slot) is Kind.OURS for slot in _slots(path))
    if kind is Kind.FOREIGN and lies_at(former) and not is_moved and not supersedes(path, former):
        raise HookInTheWay(
            f"Somebody has put another hook at {path} since the guard was installed, and the hook from before "
            f"the guard is still kept as {former.name}.",
            hint=f"Keep the one that you want: remove {former}, or move it to {path}. Then install again.",
            data={"path": str(path), "former": str(former)},
        )


def chain(path: Path, shim: bytes) -> Change:
    """Put `shim` at `path`, in front of the hook that is there. Safe to repeat. Raises HookInTheWay."""
    require_room(path)
    _set_right(path)
    if kind_of(path) is Kind.FOREIGN:
        _put_aside(path)
    if not write_shim(path, shim):
        return Change.UNCHANGED
    return Change.CHAINED if lies_at(former_of(path)) else Change.INSTALLED


def unchain(path: Path) -> tuple[bool, str | None]:
    """Take ours away and put back what was there: whether anything was, and what had to be left, and why."""
    had_moved = _set_right(path)
    former = former_of(path)
    kind = kind_of(path)
    if kind in (Kind.OURS, Kind.NOTHING):
        if lies_at(former):
            former.replace(path)
            return True, None
        path.unlink(missing_ok=True)
        return kind is Kind.OURS or had_moved, None
    if kind is Kind.CHANGED:
        left = f"{path} was changed after `am guard install` wrote it, and is left alone"
        return had_moved, left + (f"; the hook from before is {former}" if lies_at(former) else "")
    if not lies_at(former):
        return had_moved, None
    if supersedes(path, former):
        former.unlink()
        return True, None
    return had_moved, f"{path} was put there by somebody after us, and is left alone; the hook from before is {former}"


def _set_right(path: Path) -> bool:
    """If a tool moved our hook aside, let it have moved the one from before us: as if the tool had come first."""
    former = former_of(path)
    found = False
    for slot in _slots(path):
        if kind_of(slot) is not Kind.OURS:
            continue
        found = True
        if lies_at(former) and kind_of(path) is Kind.FOREIGN and not supersedes(path, former):
            former.replace(slot)
            continue
        slot.unlink()
        if lies_at(former) and kind_of(path) is Kind.FOREIGN:
            former.unlink()
    return found


def _slots(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in MOVED_SUFFIXES]


def _put_aside(path: Path) -> None:
    """`path` gets a second name, so that there is no moment without a hook. Never over another former hook."""
    former = former_of(path)
    # An older hook of the same tool, by `require_room`.
    former.unlink(missing_ok=True)
    try:
        os.link(path, former, follow_symlinks=False)
    except (NotImplementedError, PermissionError):
        # No second names for this file here: a moment without a hook it is.
        path.rename(former)
