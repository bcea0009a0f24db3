"""Files that go along with mail, and come out of it."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.cli.output import Row
from mcp_agent_mail.core.errors import Conflict, InvalidInput, Unavailable

_NO_FILES = ("sha256:", "data:")


class FileInTheWay(Conflict):
    """A file is where one is to be written."""


class UnfitFolder(InvalidInput):
    """The folder of the file is not there, or not ours to write to."""


class WrongContent(Unavailable):
    """What came is not what was asked for."""


def attached(given: str) -> str:
    """What to send along, as the server reads it, which stands elsewhere: a file by its whole path."""
    if given.lower().startswith(_NO_FILES):
        return given
    return str(Path(given).expanduser().absolute())


def save(pieces: Iterable[bytes], sha256: str, target: Path, *, is_forced: bool) -> Row:
    """Write the content to `target`, whole or not at all, and over nothing unless `is_forced`. Raises FileInTheWay,
    UnfitFolder, WrongContent.
    """
    target = target.expanduser().absolute()
    if not is_forced and os.path.lexists(target):
        raise _in_the_way(target)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    except OSError as failed:
        raise _cannot(target, failed) from failed
    beside = Path(name)
    try:
        digest, size = hashlib.sha256(), 0
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                digest.update(piece)
                size += len(piece)
                file.write(piece)
        if digest.hexdigest() != sha256.strip().lower():
            raise WrongContent(
                f"What came is not the content {sha256}; nothing was written.", hint="Try it again: am doctor verify."
            )
        _put(beside, target, is_forced=is_forced)
    except OSError as failed:
        raise _cannot(target, failed) from failed
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()
    return {"file": str(target), "bytes": size, "sha256": digest.hexdigest()}


def _put(beside: Path, target: Path, *, is_forced: bool) -> None:
    beside.chmod(0o666 & ~_umask())
    if is_forced:
        beside.replace(target)
        return
    try:
        os.link(beside, target)
    except FileExistsError:
        raise _in_the_way(target) from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _in_the_way(target: Path) -> FileInTheWay:
    return FileInTheWay(f"{target} is there already.", hint="Name another file, or add --force.")


def _cannot(target: Path, failed: OSError) -> UnfitFolder:
    return UnfitFolder(f"Cannot write {target}: {failed.strerror or failed}.", hint="Name a file in a folder of yours.")
