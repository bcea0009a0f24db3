"""Files that go along with mail, and come out of it."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.cli.arguments import given_path
from mcp_agent_mail.cli.output import Row, require_no_terminal
from mcp_agent_mail.core.errors import Conflict, InvalidInput, Unavailable

_BY_DIGEST = "sha256:"
_NO_FILES = (_BY_DIGEST, "data:")
_STDOUT = "-"


class FileInTheWay(Conflict):
    """A file is where one is to be written."""


class UnfitFolder(InvalidInput):
    """The folder of the file is not there, or not ours to write to."""


class WrongContent(Unavailable):
    """What came is not what was asked for."""


def attached(given: str) -> str:
    """What to send along, as the server reads it, which stands elsewhere: a file by its whole path."""
    if given.lower().startswith(_NO_FILES) or "://" in given:
        return given
    return str(given_path(given, "--attach").absolute())


def bare_digest(given: str) -> str:
    """A digest as addresses have it: `sha256:` before it, as mail is sent with it, is left out."""
    text = given.strip()
    return text[len(_BY_DIGEST) :].strip() if text.lower().startswith(_BY_DIGEST) else text


def save_as(output: str, pieces: Iterable[bytes], sha256: str, *, is_forced: bool) -> Row | None:
    """As `save`, where `-` is standard output: then there is nothing left to tell, hence None. Raises UnfitOutput
    besides, before anything was asked for; of a WrongContent all that came was written there.
    """
    if output != _STDOUT:
        return save(pieces, sha256, given_path(output, "--output"), is_forced=is_forced)
    require_no_terminal("am mail attachment SHA256 -o -")
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
    _require_same(digest.hexdigest(), sha256, "do not use what was written")
    return None


def save(pieces: Iterable[bytes], sha256: str, target: Path, *, is_forced: bool) -> Row:
    """Write the content to `target`, whole or not at all, and over nothing unless `is_forced`. Raises FileInTheWay,
    UnfitFolder, WrongContent.
    """
    target = target.absolute()
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
        _require_same(digest.hexdigest(), sha256, "nothing was written")
        _put(beside, target, is_forced=is_forced)
    except OSError as failed:
        raise _cannot(target, failed) from failed
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()
    return {"file": str(target), "bytes": size, "sha256": digest.hexdigest()}


def _require_same(found: str, sha256: str, outcome: str) -> None:
    if found != sha256.strip().lower():
        raise WrongContent(f"What came is not the content {sha256}; {outcome}.", hint="Try it again: am doctor verify.")


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
