"""What clients leave where a name belongs: `$NAME` and `${NAME:-}` that nobody filled in. Standard library only."""

from __future__ import annotations


def said(value: str) -> str | None:
    """What `value` says, without blanks around it. A variable that was not filled in says nothing; neither does a
    blank.
    """
    text = value.strip()
    return None if not text or text.startswith("$") else text
