"""What was most likely meant by an attachment that cannot be read, as the next call."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from mcp_agent_mail.archive.attachments import AttachmentTooLarge
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.attachments import kind_of
from mcp_agent_mail.features.attachments.data_uris import UnfitDataUri, is_data_uri
from mcp_agent_mail.workspace.lent_files import NotLent

_SHOWN = 200
_DIGEST = lazy_pattern(r"\s*(?P<sha256>[0-9a-fA-F]{64})\s*")
_SHOWN_BY_US = lazy_pattern(
    r"(?:^|[/\\])attachments?[/\\](?:[^/\\?#]+[/\\])?(?P<sha256>[0-9a-fA-F]{64})(?:\.[A-Za-z0-9]{1,8})?(?:[?#]|\s*$)"
)
"""The addresses that the product gives attachments: of resources, of bodies, of archives, of the server."""
_ADDRESS = 4_096
_DRIVE = lazy_pattern(r"[A-Za-z]:[\\/]")
_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{64}")
_HEAD = 4_096
"""Characters of base64 whose bytes tell a kind: a multiple of four."""
_KINDS_WITHOUT_MARKS = ("text/plain", "application/octet-stream")


def named(path: str, place: str) -> str:
    """The attachment in a refusal: a path as it was given, a `data:` URI by its place, never by its bytes."""
    return f"The data: URI{place and f' {place}'}" if is_data_uri(path) else repr(path[:_SHOWN])


@contextmanager
def hints_for(path: str, place: str = "") -> Iterator[None]:
    """A refusal of `path` from within says what to call instead, where the path shows that, and which of several
    `data:` URIs is meant: `place` says where it stands. Safe around any refusal.
    """
    try:
        yield
    except (AttachmentTooLarge, UnfitDataUri) as refused:
        if isinstance(refused, UnfitDataUri) and not place:
            raise
        message = f"{named(path, place)}: {refused.message}"
        raise refused.reworded(message=message, hint=refused.hint, data=refused.data) from refused
    except (NotFound, InvalidInput) as refused:
        hint = None if is_data_uri(path) else _hint(path)
        if hint is None and isinstance(refused, NotLent):
            hint = _copy_hint(path)
        if hint is None:
            raise
        raise refused.reworded(hint=hint, data=refused.data) from refused


def _hint(path: str) -> str | None:
    if (shown := _DIGEST.fullmatch(path) or _SHOWN_BY_US.search(path[:_ADDRESS])) is not None:
        return f"An attachment that was sent before is named by its digest: sha256:{shown['sha256'].lower()}"
    if path[:7].lower() == "file://":
        return f"Give the path alone: {unquote(urlsplit(path).path)[:_SHOWN]!r}"
    if _URL.match(path):
        return "Nothing is downloaded. Download it into the project's directory, then give the file's path."
    if _DRIVE.match(path) or ("\\" in path and "/" not in path):
        return f"Paths have slashes here, from the project's directory on, as in {_with_slashes(path)!r}."
    if (media_type := _type_of_base64(path)) is not None:
        return f"Base64 needs its head: data:{media_type};base64,{path[:8]}…"
    return None


def _with_slashes(path: str) -> str:
    return _DRIVE.sub("", path).replace("\\", "/")[:_SHOWN]


def _type_of_base64(text: str) -> str | None:
    """The media type of what `text` is base64 of; None for what may as well be a path."""
    if not _BASE64.match(text):
        return None
    try:
        data = binascii.a2b_base64(text[: min(_HEAD, len(text) & ~3)].encode("ascii"), strict_mode=True)
    except ValueError:
        return None
    media_type = kind_of(data).media_type
    return None if media_type in _KINDS_WITHOUT_MARKS and len(text) <= _HEAD else media_type


def _copy_hint(path: str) -> str:
    name = PurePosixPath(path).name or "FILE"
    return (
        f"Copy the file into the project's directory, then give {name[:_SHOWN]!r}; or give the content itself as a "
        "data: URI. The operator may send files from elsewhere (am mail send --attach)."
    )
