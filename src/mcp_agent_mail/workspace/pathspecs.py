"""From a reservation pattern to Git's pathspecs: what Git is asked to list. They may take in more than the pattern
covers, never less: too much activity leaves a lease alone, too little would take it away.
"""

from __future__ import annotations

import re

_WILDCARD = re.compile(r"[*?\[]")
_VIRTUAL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_FOLDER_ENDS = ("/**", "/*", "/")


def is_virtual(pattern: str) -> bool:
    """`tool://…`: a name that stands for no file."""
    return _VIRTUAL.match(pattern) is not None


def literal_path(pattern: str) -> str | None:
    """The one path (a file, or a folder with all below it) that a pattern without wildcards means; else None."""
    end = next((end for end in _FOLDER_ENDS if pattern.endswith(end)), "")
    path = pattern.removesuffix(end)
    return None if not path or _WILDCARD.search(path) else path


def pathspecs(pattern: str, *, ignore_case: bool) -> list[str]:
    """Relative to the project's directory; wildcards mean what they mean in a `.gitignore` line."""
    case = ",icase" if ignore_case else ""
    literal = literal_path(pattern)
    if literal is not None:
        return [f":(literal{case}){literal}"]
    whole = pattern.removesuffix("/")
    anchored = pattern if "/" in whole else f"**/{whole}"
    below = anchored.removesuffix("/") + "/**"
    return [f":(glob{case}){anchored}", f":(glob{case}){below}", f":(literal{case}){whole}"]
