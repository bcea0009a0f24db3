"""A hook of ours in front of the one that was there, in the same folder.

The former hook is moved beside it, with its bytes, mode and kind (a link stays a link), and runs after ours.
Nothing here overwrites a file that is not ours, unless the same tool has written a newer one.
"""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.guard.hooks.folder import HookFile, not_plain
from mcp_agent_mail.guard.hooks.shim import HookFileKind, kind_of, supersedes, write_shim

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


def former_of(hook: HookFile) -> HookFile:
    """Where the hook lies that was there before ours."""
    return hook.beside(FORMER_SUFFIX)


def require_ordinary(hook: HookFile) -> None:
    """Raise NothingPlainThere for a FIFO, a device or a folder where a hook or its former one belongs."""
    for each in (hook, former_of(hook), *_slots(hook)):
        if each.lies_here() and not each.is_link() and not each.is_ordinary():
            raise not_plain(each.path, "file")


def require_room(hook: HookFile) -> None:
    """Raise HookInTheWay where `chain` could not go on without harm; changes nothing."""
    kind, former = kind_of(hook), former_of(hook)
    if kind is HookFileKind.CHANGED:
        raise HookInTheWay(
            f"{hook.path} was written by `am guard install` and changed by somebody since.",
            hint=f"Move {hook.path} away, then install again; what was added to it can stand in a hook of its own.",
            data={"path": str(hook.path)},
        )
    is_moved = any(kind_of(slot) is HookFileKind.OURS for slot in _slots(hook))
    if kind is HookFileKind.FOREIGN and former.lies_here() and not is_moved and not supersedes(hook, former):
        raise HookInTheWay(
            f"Somebody has put another hook at {hook.path} since the guard was installed, and the hook from before "
            f"the guard is still kept as {former.name}.",
            hint=f"Keep the one that you want: remove {former.path}, or move it to {hook.path}. Then install again.",
            data={"path": str(hook.path), "former": str(former.path)},
        )


def chain(hook: HookFile, shim: bytes) -> Change:
    """Put `shim` there, in front of the hook that is there. Safe to repeat. Raises HookInTheWay."""
    require_room(hook)
    _set_right(hook)
    if kind_of(hook) is HookFileKind.FOREIGN:
        _put_aside(hook)
    if not write_shim(hook, shim):
        return Change.UNCHANGED
    return Change.CHAINED if former_of(hook).lies_here() else Change.INSTALLED


def unchain(hook: HookFile) -> tuple[bool, str | None]:
    """Take ours away and put back what was there: whether anything was, and what had to be left, and why."""
    had_moved = _set_right(hook)
    former = former_of(hook)
    kind = kind_of(hook)
    if kind in (HookFileKind.OURS, HookFileKind.NOTHING):
        if former.lies_here():
            former.move_to(hook)
            return True, None
        hook.unlink()
        return kind is HookFileKind.OURS or had_moved, None
    if kind is HookFileKind.CHANGED:
        left = f"{hook.path} was changed after `am guard install` wrote it, and is left alone"
        return had_moved, left + (f"; the hook from before is {former.path}" if former.lies_here() else "")
    if not former.lies_here():
        return had_moved, None
    if supersedes(hook, former):
        former.unlink()
        return True, None
    left = f"{hook.path} was put there by somebody after us, and is left alone"
    return had_moved, f"{left}; the hook from before is {former.path}"


def _set_right(hook: HookFile) -> bool:
    """If a tool moved our hook aside, let it have moved the one from before us: as if the tool had come first."""
    former = former_of(hook)
    found = False
    for slot in _slots(hook):
        if kind_of(slot) is not HookFileKind.OURS:
            continue
        found = True
        if former.lies_here() and kind_of(hook) is HookFileKind.FOREIGN and not supersedes(hook, former):
            former.move_to(slot)
            continue
        slot.unlink()
        if former.lies_here() and kind_of(hook) is HookFileKind.FOREIGN:
            former.unlink()
    return found


def _slots(hook: HookFile) -> list[HookFile]:
    return [hook.beside(suffix) for suffix in MOVED_SUFFIXES]


def _put_aside(hook: HookFile) -> None:
    """The hook gets a second name, so that there is no moment without a hook. Never over another former hook."""
    former = former_of(hook)
    # An older hook of the same tool, by `require_room`.
    former.unlink()
    try:
        hook.name_too(former)
    except (NotImplementedError, PermissionError):
        # No second names for this file here: a moment without a hook it is.
        hook.move_to(former)
