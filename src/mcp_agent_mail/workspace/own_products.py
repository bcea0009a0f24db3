"""What the product has written where it is not known by its place: backups, saved files, stores, copies of databases.

A file is judged by the first bytes of what was opened, a folder by what stands in it as it is entered. It costs a read
of a head, and for a folder the opening of a name that is mostly not there.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from mcp_agent_mail.domain.own_files import (
    BACKUP_MANIFEST,
    DATABASE_FILE,
    HEAD_BYTES,
    is_backup_manifest,
    is_database,
    is_saved_file,
    is_scratch,
    is_store_name,
)

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def is_own_product(descriptor: int) -> bool:
    """Is the open file a database, a saved file or a backup's description of itself? Its place in it stays."""
    head = os.pread(descriptor, HEAD_BYTES, 0)
    return is_database(head) or is_saved_file(head) or is_backup_manifest(head)


def is_written_by_us(folder: int, name: str) -> bool:
    """Is the open folder, which is called `name`, a backup, or one in which something is being made?"""
    return is_scratch(name.casefold()) or is_backup_manifest(_head(folder, BACKUP_MANIFEST))


def is_part_of_store(folder: int, name: str) -> bool:
    """Is what is called `name` the store's there, since the open folder is a whole one?"""
    return is_store_name(name.casefold()) and is_database(_head(folder, DATABASE_FILE))


def _head(folder: int, name: str) -> bytes:
    """Empty where no plain file is, or none that can be read."""
    with suppress(OSError):
        descriptor = os.open(name, _FILE, dir_fd=folder)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return os.pread(descriptor, HEAD_BYTES, 0)
        finally:
            os.close(descriptor)
    return b""
