"""Why a source is not read: what a person is told who wants it imported."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_agent_mail.core.errors import Conflict, InvalidInput

_SHOWN = 12
_LONGEST = 80


class UnknownLayout(InvalidInput):
    """What was found is no store of the system that was named."""


class SourceUnreadable(InvalidInput):
    """It may be such a store, and cannot be read: damaged, a link, another user's."""


class SourceInUse(Conflict):
    """The source is being written while it is copied."""


def unknown_layout(path: object, system: str, found: str) -> UnknownLayout:
    """`found` says what is there instead, as the end of a sentence."""
    return UnknownLayout(
        f"{path} is no store of {system} that is known here: {found}.",
        hint="Nothing was read any further, and nothing was changed. `am import --help` shows what each system's store "
        "is; where its layout has changed, say so to whoever maintains this program, with the line above.",
        data={"path": str(path), "system": system, "found": found},
    )


def unreadable(path: object, why: str) -> SourceUnreadable:
    """What is there is damaged. `why` is the end of a sentence."""
    return SourceUnreadable(
        f"{path} cannot be read: {why}.",
        hint="Nothing was changed, here or there. Mend it with the tools of its own system, or copy what is whole.",
        data={"path": str(path)},
    )


def wrong_path(path: object, why: str) -> SourceUnreadable:
    """What was named is not there, is something else, or is not for this user. `why` is the end of a sentence."""
    return SourceUnreadable(
        f"{path} cannot be read: {why}.",
        hint="Nothing was changed. Look at the path, and whether you may read what is there (ls -l): `am import SYSTEM "
        "--help` says what is meant by it.",
        data={"path": str(path)},
    )


def too_large(path: object, what: str) -> SourceUnreadable:
    """`what` there is more of than is read."""
    return SourceUnreadable(
        f"{path} cannot be read: {what}.",
        hint="Nothing was changed. No larger store is taken over: tell whoever maintains this program of it.",
        data={"path": str(path)},
    )


def in_use(path: object) -> SourceInUse:
    """Its program wrote to it each time that it was copied."""
    return SourceInUse(
        f"{path} changes while it is read.",
        hint="Stop the program that writes to it, then run this again.",
        data={"path": str(path)},
    )


def some(names: Iterable[object]) -> str:
    """Names as they were found, for the end of a sentence; the first twelve."""
    listed = [repr(str(name)[:_LONGEST])[1:-1] for name in names]
    left = len(listed) - _SHOWN
    return ", ".join(listed[:_SHOWN]) + (f" and {left} more" if left > 0 else "") if listed else "nothing"
