"""Is a bundle what its manifest says, to the byte, and did the holder of a key say so?"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import open_plain
from mcp_agent_mail.features.sharing.manifest import MANIFEST, MOST_FILES, SIGNATURE, FileDigest, read_manifest
from mcp_agent_mail.features.sharing.results import SharedPreset

MOST_TOLD = 20
MOST_OF_A_PATH = 200
"""Characters that are told of one."""
_CHUNK = 1 << 20

CheckSignature = Callable[[bytes], None]
"""Raises where a manifest of these bytes is not signed as it should be."""


class ChangedBundle(Conflict):
    """Files that differ from the manifest, are missing, or are in it nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedBundle:
    """`is_signed`: that the holder of the key made it was checked; else only that its files are those of its
    manifest, which anybody could have made.
    """

    files: int
    bytes: int
    preset: SharedPreset
    is_signed: bool


def verify_bundle(folder: Path, check_signature: CheckSignature | None) -> VerifiedBundle:
    """Look at every byte in `folder`. Raises UnfitManifest, ChangedBundle, also where something in it cannot be looked
    at, and what `check_signature` raises.
    """
    try:
        return _verified(folder, check_signature)
    except OSError as failed:
        place = _told(str(failed.filename or folder))
        raise ChangedBundle(
            f"{_told(str(folder))} cannot be checked: {place}: {failed.strerror or failed}.",
            hint="No export makes what cannot be read. Look at it, or ask who made the bundle for it again.",
            data={"path": str(folder), "problems": [f"{place} cannot be read"]},
        ) from failed


def _verified(folder: Path, check_signature: CheckSignature | None) -> VerifiedBundle:
    manifest, content = read_manifest(folder)
    # First, since one that was broken off has no signature.
    if manifest.is_unfinished:
        raise ChangedBundle(
            f"An export into {folder} was interrupted.", hint="Run the same am share export again, or ask who made it."
        )
    if check_signature is not None:
        check_signature(content)
    found = set(_all_files(folder))
    problems = [f"{SIGNATURE} is no plain file"] if _is_odd(folder / SIGNATURE) else []
    problems += [f"{_told(path)} is not in the manifest" for path in sorted(found - manifest.files.keys())]
    for path, digest in sorted(manifest.files.items()):
        if path not in found:
            problems.append(f"{path} is missing")
        elif not _is_same(folder / path, digest):
            problems.append(f"{path} is changed")
    if problems:
        more = f"; and {len(problems) - MOST_TOLD:,} more" if len(problems) > MOST_TOLD else ""
        raise ChangedBundle(
            f"{folder} is not what its manifest says: {'; '.join(problems[:MOST_TOLD])}{more}.",
            hint="Do not trust it. Ask who made it for it again; files of your own belong beside it, not in it.",
            data={"path": str(folder), "problems": problems[:MOST_TOLD]},
        )
    return VerifiedBundle(
        files=len(manifest.files),
        bytes=sum(one.bytes for one in manifest.files.values()),
        preset=manifest.preset,
        is_signed=check_signature is not None,
    )


def _told(path: str) -> str:
    """Its beginning and its end."""
    if len(path) <= MOST_OF_A_PATH:
        return path
    half = MOST_OF_A_PATH // 2
    return f"{path[:half]}…{path[-half:]}"


def _all_files(folder: Path) -> Iterator[str]:
    """All that is no folder, links and empty folders' names too, within a bound that no bundle reaches."""
    seen = 0
    for at, folders, names in os.walk(folder, onerror=_raise):
        here = Path(at)
        linked = [name for name in folders if (here / name).is_symlink()]
        for name in (*names, *linked):
            seen += 1
            if seen > 2 * MOST_FILES:
                raise ChangedBundle(
                    f"{folder} has more files than any bundle.", hint="Name the folder of am share export."
                )
            path = (here / name).relative_to(folder).as_posix()
            if path not in (MANIFEST, SIGNATURE):
                yield path


def _is_odd(place: Path) -> bool:
    """Something that is no file stands there: a link, a pipe, a folder."""
    return os.path.lexists(place) and not stat.S_ISREG(place.lstat().st_mode)


def _is_same(place: Path, digest: FileDigest) -> bool:
    """Of a plain file, and through no link."""
    try:
        if not stat.S_ISREG(place.lstat().st_mode):
            return False
        descriptor = open_plain(place)
    except OSError:
        return False
    hashed = hashlib.sha256()
    with os.fdopen(descriptor, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            hashed.update(chunk)
        return hashed.hexdigest() == digest.sha256 and stream.tell() == digest.bytes


def _raise(error: OSError) -> None:
    raise error
