"""Nothing is made within a store but by the store itself: what lies there is moved, replaced and read as its own."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_agent_mail.features.recovery.scratch import UnfitTarget


class PartOfStore(UnfitTarget):
    """What was to be made would lie in a store, or a store in it."""


def require_outside(storage_root: Path, target: Path, *, is_made: bool = False) -> None:
    """Raise PartOfStore for a `target` in the store, by whatever links; before any work. `is_made`: it is a folder that
    is to be put in place as a whole, so the store cannot lie in it either.
    """
    root, place = Path(os.path.realpath(storage_root)), Path(os.path.realpath(target))
    if not _is_within(place, root) and not (is_made and _is_within(root, place)):
        return
    raise PartOfStore(
        f"{target} lies in the store of {storage_root}, or around it: nothing but the store is made there.",
        hint="Name a place outside of it.",
        data={"path": str(target)},
    )


def _is_within(place: Path, folder: Path) -> bool:
    """Also where one of them has another name: by another case of its letters, or mounted elsewhere."""
    return any(above == folder or _is_same(above, folder) for above in (place, *place.parents))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
