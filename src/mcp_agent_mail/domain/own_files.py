"""By what the product's own files are known wherever they lie: databases, backups, saved files, whole stores.

Whoever writes one takes the words from here, so that they are known again as they are written.
"""

from __future__ import annotations

import re

from mcp_agent_mail.core.lazy.pattern import lazy_pattern

DATABASE_FILE = "mail.sqlite3"
"""Of a store; also of a backup, and of a store that is made somewhere else."""

APPLICATION_ID = int.from_bytes(b"amai", "big")
"""SQLite's, in the header of each database of ours."""

BACKUP_MANIFEST = "manifest.json"
BACKUP_KIND = "mcp-agent-mail backup"
BACKUP_BUILDING = ".building-"
"""So begins, with hexadecimal digits behind it, the folder of a backup that is being written."""

SAVING, EXPORTING, RESTORING, BUILDING, REBUILDING = SCRATCH = (
    "saving",
    "exporting",
    "restoring",
    "building",
    "rebuilding",
)
"""So ends the name of a folder in which one of the others is being made: `.NAME.saving`. In STORAGE_ROOT `restoring` is
the whole name, while a store is made that is to lie there."""

SAVED_MANIFEST = "manifest.json"
"""The first member of a saved file."""

_OF_STORES = frozenset(
    "projects adopted attachments moving undo kept restoring operator.token server.json server.log".split()
)
"""What has mail or secrets in it beside a store's database."""

HEAD_BYTES = 1_024
"""So much of a file's beginning tells."""

_SQLITE = b"SQLite format 3\0"
_APPLICATION_ID_AT = slice(68, 72)
_BLOCK = 512
_TAR = slice(257, 263)
_NAME = slice(0, 100)
_SAVED = lazy_pattern(rb'\{\s*"format": \d+,\s*"partial": (?:true|false),\s*"projects": \[')
_BACKUP = lazy_pattern(rb'\{\s*"kind": "' + re.escape(BACKUP_KIND.encode()) + rb'",')
_SCRATCH = lazy_pattern(rf"{re.escape(BACKUP_BUILDING)}[0-9a-f]{{16}}|\..+\.(?:{'|'.join(SCRATCH)})", re.DOTALL)


def is_sqlite(head: bytes) -> bool:
    """Does what begins like this say that it is a database, whoever's?"""
    return head.startswith(_SQLITE)


def is_database(head: bytes) -> bool:
    """Does what begins like this say that it is a database of ours, whatever it is called?"""
    return is_sqlite(head) and int.from_bytes(head[_APPLICATION_ID_AT], "big") == APPLICATION_ID


def is_saved_file(head: bytes) -> bool:
    """Does it begin as a file of `am archive save`, of this version or another?"""
    is_ours = head[_NAME].rstrip(b"\0") == SAVED_MANIFEST.encode() and head[_TAR] == b"ustar "
    return is_ours and _SAVED.match(head, _BLOCK) is not None


def is_store_name(name: str) -> bool:
    """Is it a name of what a store has with mail or secrets in it, beside its database?"""
    return name in _OF_STORES or name.startswith((f"{DATABASE_FILE}-", f"{DATABASE_FILE}."))


def is_backup_manifest(head: bytes) -> bool:
    """Does it begin as a backup's description of itself?"""
    return _BACKUP.match(head) is not None


def is_scratch(name: str) -> bool:
    """Is it the name of a folder in which such a thing is being made?"""
    return _SCRATCH.fullmatch(name) is not None
