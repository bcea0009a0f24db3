"""From a reservation pattern to Git's pathspecs: what Git is asked to list. They may take in more than the pattern
covers, never less: too much activity leaves a lease alone, too little would take it away.
"""

from __future__ import annotations

from mcp_agent_mail.domain.patterns.pattern import Pattern

_FOLDER_ENDS = ("/**", "/*", "/")


def literal_path(pattern: Pattern) -> str | None:
    """The one path (a file, or a folder with all below it) that a pattern without wildcards means; else None."""
    return pattern.text.rstrip("/") if pattern.is_literal else _folder_of(pattern) if pattern.plain else None


def pathspecs(pattern: Pattern) -> list[str]:
    """Relative to the project's directory; wildcards mean what they mean in a `.gitignore` line."""
    case = ",icase" if pattern.ignore_case else ""
    literal = literal_path(pattern)
    if literal is not None and pattern.plain is not None:
        return [f":(literal{case}){literal}"]
    is_rooted = pattern.text.startswith("/")
    whole = pattern.text.strip("/")
    anchored = whole if is_rooted or "/" in whole or pattern.text.endswith("/") else f"**/{whole}"
    return [
        f":(glob{case}){anchored}",
        f":(glob{case}){anchored}/**",
        f":(literal{case}){_folder_of(pattern)}",
    ]


def _folder_of(pattern: Pattern) -> str:
    """The text itself as a path; of `dir/*` and its like, `dir`."""
    text = pattern.text.lstrip("/")
    end = next((end for end in _FOLDER_ENDS if text.endswith(end) and text != end), "")
    return text.removesuffix(end)
