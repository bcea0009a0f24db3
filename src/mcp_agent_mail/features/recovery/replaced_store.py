"""The database that a rebuild replaces: can it be asked what Git has not got yet? Else that does not come back."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_agent_mail.store.checks.integrity import is_sound
from mcp_agent_mail.store.engine.sqlite.migrate import ForeignStore, require_ours
from mcp_agent_mail.store.engine.sqlite.schema import changes_of, in_a_sentence

_LOST = "What Git had not got yet was not brought back: it is in the old database alone, which is kept."


def is_readable(path: Path) -> bool:
    """Whether it is there, whole, and nobody else's in any part: what a stranger has added would run as it is read."""
    return os.path.lexists(path) and _unread(path) is None


def why_unread(path: Path) -> str | None:
    """What a person is told of the database at `path` that was replaced unasked; None where it was asked, or none was
    there.
    """
    why = _unread(path) if os.path.lexists(path) else None
    return None if why is None else f"{why} {_LOST}"


def _unread(path: Path) -> str | None:
    try:
        require_ours(path)
        if changed := changes_of(path):
            return f"Its schema was not the one that this program makes: {in_a_sentence(changed)}"
        return None if is_sound(path) else "Not all of it could be read."
    except ForeignStore:
        return "It was no database of this program."
    except OSError as failed:
        return f"It could not be opened: {failed.strerror}."
