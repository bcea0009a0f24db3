"""How the text of a pattern is written: read once, in one normal form, or refused with the next step."""

from __future__ import annotations

import re

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.patterns.charsets import BRACKET

MAX_PATTERN_LENGTH = 1_024

_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://")
_CONTROL = lazy_pattern("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TOKENS = rf"(?:{BRACKET}|\\[^/]|[^/\[\\])"
_SEGMENT = lazy_pattern(rf"(?>{_TOKENS}*)", re.DOTALL)
_READABLE = lazy_pattern(rf"(?>(?:{_TOKENS}|/)*)", re.DOTALL)
_WILDCARD = lazy_pattern(r"[*?\[]")
_EVERYTHING = "**"


class UnreadablePattern(InvalidInput):
    """The text stands for no path of the project; the message says why."""


class OutsideProject(UnreadablePattern):
    """The path lies somewhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternText:
    """A pattern as it is stored and shown, and its parts: `segments` are unread, `is_rooted` a leading `/`."""

    text: str
    segments: tuple[str, ...] = ()
    is_rooted: bool = False
    ends_in_slash: bool = False
    is_virtual: bool = False


def normalise(text: str, *, project_root: str | None = None) -> PatternText:
    """`text` without outer blanks, `.`, `..` and repeated slashes, relative to the project; or UnreadablePattern.

    `project_root` is an absolute path as `posixpath.normpath` writes it. A leading `/` before a wildcard
    (`/*.py`) binds to the project's root; any other path that begins with `/` is absolute.
    """
    cleaned = text.strip()
    _check(cleaned)
    if scheme := _SCHEME.match(cleaned):
        return _virtual(cleaned, scheme.group())
    inside = _below_root(cleaned, project_root)
    parts = split(cleaned if inside is None else inside)
    is_rooted = inside is None and cleaned.startswith("/")
    ends_in_slash = parts[-1] in {"", ".", ".."}
    kept, outside = _resolved(parts, cleaned)
    if is_rooted and not (kept and not outside and _WILDCARD.search(kept[0])):
        return _absolute(cleaned, kept, project_root, ends_in_slash=ends_in_slash)
    if outside:
        return _absolute(
            cleaned, _joined(project_root, outside, kept, cleaned), project_root, ends_in_slash=ends_in_slash
        )
    return _assembled(kept, is_rooted=is_rooted, ends_in_slash=ends_in_slash)


def read_normal(text: str) -> PatternText:
    """A text in normal form, taken as it is; UnreadablePattern where it cannot be one."""
    _check(text)
    if _SCHEME.match(text):
        return PatternText(text=text, is_virtual=True)
    is_rooted, ends_in_slash = text.startswith("/"), text.endswith("/")
    segments = split(text[is_rooted : len(text) - ends_in_slash])
    if not all(segments):
        raise _outside(text)
    return PatternText(text=text, segments=tuple(segments), is_rooted=is_rooted, ends_in_slash=ends_in_slash)


def split(text: str) -> list[str]:
    """The segments of a readable text; a slash within a bracket does not end one."""
    if "[" not in text:
        return text.split("/")
    segments: list[str] = []
    at = 0
    while True:
        match = _SEGMENT.match(text, at)
        assert match
        segments.append(match.group())
        at = match.end() + 1
        if at > len(text):
            return segments


def _check(text: str) -> None:
    if not text:
        raise UnreadablePattern(
            "The pattern is empty.", hint="Name a file, a folder or a pattern, like src/app.py, src/ or *.py."
        )
    if len(text) > MAX_PATTERN_LENGTH:
        raise UnreadablePattern(
            f"The pattern has {len(text)} characters; at most {MAX_PATTERN_LENGTH} are accepted.",
            hint="Name a folder above it, or use `*`.",
            data={"max_length": MAX_PATTERN_LENGTH},
        )
    if _CONTROL.search(text):
        raise UnreadablePattern("The pattern holds control characters.", hint="Write one path or pattern, on one line.")
    if not _READABLE.fullmatch(text) and not _SCHEME.match(text):
        raise UnreadablePattern(
            f"The pattern {text!r:.200} cannot be read: an open `[`, an unknown class, or a `\\` before nothing.",
            hint="Close the bracket, or write \\[ and \\\\ for the characters themselves.",
            data={"pattern": text},
        )


def _virtual(text: str, scheme: str) -> PatternText:
    if scheme.lower() == "file://" or len(text) == len(scheme):
        raise UnreadablePattern(
            f"{text!r:.200} names nothing that can be reserved.",
            hint="Send a path or pattern as it is, and names of other things like tool://deploy.",
            data={"pattern": text},
        )
    return PatternText(text=text, is_virtual=True)


def _below_root(text: str, project_root: str | None) -> str | None:
    """What follows the project's root in `text`; None where it does not begin with it."""
    if project_root is None or not text.startswith("/"):
        return None
    root = project_root.rstrip("/") + "/"
    return text[len(root) :] if text.startswith(root) else None


def _resolved(parts: list[str], text: str) -> tuple[list[str], int]:
    """The segments that are left, and how many folders above the start they begin."""
    kept: list[str] = []
    outside = 0
    for part in parts:
        if part in {"", "."}:
            continue
        if part != "..":
            if "\\" in part and part.replace("\\", "") in {".", ".."}:
                raise _outside(text)
            kept.append(part)
        elif not kept:
            outside += 1
        elif not kept[-1].strip("*") and len(kept[-1]) > 1:
            raise UnreadablePattern(
                f"The pattern {text!r:.200} goes up from `**`, which may be any folder.",
                hint="Write it without `..`.",
                data={"pattern": text},
            )
        else:
            kept.pop()
    return kept, outside


def _joined(project_root: str | None, outside: int, kept: list[str], text: str) -> list[str]:
    above = project_root.strip("/").split("/") if project_root else []
    if not above or outside > len(above):
        raise _outside(text)
    return above[: len(above) - outside] + kept


def _absolute(text: str, segments: list[str], project_root: str | None, *, ends_in_slash: bool) -> PatternText:
    """Segments counted from the file system's root, made relative to the project."""
    root = project_root.strip("/").split("/") if project_root else []
    if not root or segments[: len(root)] != root:
        raise _outside(text)
    return _assembled(segments[len(root) :], is_rooted=False, ends_in_slash=ends_in_slash)


def _assembled(segments: list[str], *, is_rooted: bool, ends_in_slash: bool) -> PatternText:
    if not segments or (len(segments) == 1 and is_rooted and segments[0] == _EVERYTHING):
        return PatternText(text=_EVERYTHING, segments=(_EVERYTHING,))
    # With an inner slash a pattern is bound to the root anyway.
    is_rooted = is_rooted and len(segments) == 1 and not ends_in_slash
    text = ("/" if is_rooted else "") + "/".join(segments) + ("/" if ends_in_slash else "")
    return PatternText(text=text, segments=tuple(segments), is_rooted=is_rooted, ends_in_slash=ends_in_slash)


def _outside(text: str) -> OutsideProject:
    return OutsideProject(
        f"{text!r:.200} lies outside the project.",
        hint="Write paths from the repository's root, like src/app.py.",
        data={"pattern": text},
    )
