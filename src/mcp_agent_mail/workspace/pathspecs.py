"""From a reservation pattern to Git's pathspecs: what Git is asked to list. They may take in more than the pattern
covers, never less: too much activity leaves a lease alone, too little would take it away.
"""

from __future__ import annotations

from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.patterns.pattern import Pattern

_ESCAPED = lazy_pattern(r"\\(.)")
_FOLDER_ENDS = ("/**", "/*", "/")


def literal_paths(pattern: Pattern) -> list[str]:
    """The path (a file, or a folder with all below it) that a pattern without wildcards means; none when it has some.

    Two where the pattern holds a backslash: it is also the path that is written so.
    """
    if pattern.plain is None:
        return [_ESCAPED.sub(r"\1", pattern.text), pattern.text] if pattern.is_literal else []
    return [_folder_of(pattern)]


def pathspecs(pattern: Pattern) -> list[str]:
    """Relative to the project's directory; wildcards mean what they mean in a `.gitignore` line."""
    case = ",icase" if pattern.ignore_case else ""
    if pattern.plain is not None:
        return [f":(literal{case}){path}" for path in literal_paths(pattern)]
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
