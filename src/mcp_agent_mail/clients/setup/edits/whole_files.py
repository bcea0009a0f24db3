"""Files that are ours as a whole: executable hooks and plugins, known by the line that they carry."""

from __future__ import annotations

from mcp_agent_mail.clients.setup.edits.look import Difference
from mcp_agent_mail.clients.setup.edits.text import UnfitText
from mcp_agent_mail.clients.setup.wishes import FileWish

MARK = "Written by `am setup`, taken away by `am setup --undo`"
_LOOKED_AT = 1_000


def put_into(text: str, wish: FileWish) -> str:
    """What the file should be. Raises UnfitText where another's file lies."""
    _require_ours(text, wish)
    return wish.content or ""


def differences(text: str, wish: FileWish) -> list[Difference]:
    """Where it differs first from what it should be. Raises UnfitText."""
    _require_ours(text, wish)
    if text == wish.content:
        return []
    ours, theirs = (wish.content or "").split("\n"), text.split("\n")
    same = next((at for at, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other), None)
    return [Difference(what=wish.path.name, line=(min(len(ours), len(theirs)) if same is None else same) + 1)]


def take_out(text: str, wish: FileWish, original: str | None) -> str | None:
    """None: the file goes, or `original` comes back. Raises UnfitText where somebody has changed it."""
    if text == wish.content:
        return original
    if MARK not in text[:_LOOKED_AT]:
        return text
    raise UnfitText(
        "somebody has changed this file of ours since",
        line=differences(text, wish)[0].line or 1,
        hint="Look at it, and remove it yourself.",
    )


def _require_ours(text: str, wish: FileWish) -> None:
    if text.strip() and MARK not in text[:_LOOKED_AT]:
        raise UnfitText(
            f"a file of somebody else's is here already, and {wish.client} runs one file of that name only", line=1
        )
