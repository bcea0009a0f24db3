"""The two versions of the archive's format that are about: where they differ, and how one becomes the other.

In version 1 a block was a bare number (`2026/11/1/`), and a mail file ended where its body ended. An archive is of one
version as a whole, that of its `archive.json`: it is gone on with in that version until it is converted in one commit.
"""

from __future__ import annotations

import json

from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.archive_format.json_text import document

OLDEST_VERSION = 1
FORMAT_VERSION = 2
BLOCK = 500

_FOLDER = lazy_pattern(
    r"((?:messages|agents/[^/]+/(?:inbox|outbox|overdue)|(?:file_reservations|build_slots)/released)"
    r"/[0-9]{4}/[0-9]{2}/)(0|[1-9][0-9]{0,14})(-[0-9]{1,15})?"
)
_MAIL_NAME = lazy_pattern(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z__[a-z0-9._-]+__[0-9]+\.md")
_LEASE_NAME = lazy_pattern(rb"id-[0-9]+\.json")
_END = b"\n"


def block_folder(number: int, version: int) -> str:
    """The name of the folder in which the file of this id lies, within its month: 500 ids share one."""
    block = number // BLOCK
    return str(block) if version == OLDEST_VERSION else _named(block)


def _named(block: int) -> str:
    return f"{block * BLOCK}-{block * BLOCK + BLOCK - 1}"


def mail_end(version: int) -> bytes:
    """What follows the body of a mail: a reader takes just this off."""
    return b"" if version == OLDEST_VERSION else _END


def converted_folder(path: str) -> str | None:
    """What a block folder of version 1 is called in version 2; None for any other folder."""
    found = _FOLDER.fullmatch(path)
    return None if found is None or found[3] else f"{found[1]}{_named(int(found[2]))}"


def former_folder(path: str) -> str | None:
    """What a block folder of version 2 was called in version 1; None for any other folder."""
    found = _FOLDER.fullmatch(path)
    return f"{found[1]}{int(found[2]) // BLOCK}" if found and found[3] else None


def is_mail_name(name: bytes) -> bool:
    """Whether a file of this name in a block folder is a mail: its content ends otherwise in version 2."""
    return _MAIL_NAME.fullmatch(name) is not None


def is_lease_name(name: bytes) -> bool:
    """Whether a file of this name in a block folder is an ended lease's, or an overdue notice."""
    return _LEASE_NAME.fullmatch(name) is not None


def converted_mail(content: bytes) -> bytes:
    """A mail file of version 1 as it stands in version 2."""
    return content + _END


def version_in(archive_file: bytes) -> int:
    """The version that an `archive.json` names; the oldest where it names none that there can be. Raises ValueError for
    no JSON.
    """
    fields = json.loads(archive_file)
    version = fields.get("format") if isinstance(fields, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        return OLDEST_VERSION
    return max(version, OLDEST_VERSION)


def converted_archive_file(archive_file: bytes) -> bytes:
    """An `archive.json` that names this version and otherwise says the same. Raises ValueError for no JSON."""
    return document(json.loads(archive_file) | {"format": FORMAT_VERSION})
