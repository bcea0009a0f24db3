"""One message both ways: the subject that a door's body goes by natively, and what a door shows of a native message."""

from __future__ import annotations

import unicodedata

MAX_DOOR_SUBJECT = 120
"""Characters, the sign of the cut among them."""

NO_TEXT = "(no text)"
_CUT = "…"


def subject_of(body: str) -> str:
    """The first line that is not blank, as a subject: in one line, without controls, and cut where it is long."""
    for line in body.splitlines():
        if subject := _plain(line):
            return subject if len(subject) <= MAX_DOOR_SUBJECT else subject[: MAX_DOOR_SUBJECT - 1].rstrip() + _CUT
    return NO_TEXT


def _plain(line: str) -> str:
    """As `parse_subject` takes it: a tab is a blank, other controls are left out."""
    return "".join(one for one in line.replace("\t", " ") if unicodedata.category(one) not in ("Cc", "Cs")).strip()


def shown_text(subject: str, body: str, *, is_from_door: bool) -> str:
    """A message as doors show it, which know no subjects: the body, under the subject where that says something new.

    What came in by a door goes out byte for byte.
    """
    if is_from_door:
        return body
    if not body.strip():
        return subject
    first = body.split("\n", 1)[0].removesuffix("\r")
    return body if first == subject else f"{subject}\n\n{body}"
