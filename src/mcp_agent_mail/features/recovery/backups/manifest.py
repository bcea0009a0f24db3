"""What a backup says of itself: whose it is, what it holds, and the SHA-256 of every file in it.

A backup is a folder of plain files under names that this module gives. Nothing else is ever read of one, whatever
it names: no link, no device, nothing outside of it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from mcp_agent_mail.archive.folders import NotAFile, names_in, opened, opened_file
from mcp_agent_mail.core.errors import Conflict, InvalidInput
from mcp_agent_mail.core.json_limits import read_bounded
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.domain.own_files import BACKUP_KIND, BACKUP_MANIFEST, DATABASE_FILE

MANIFEST_FILE = BACKUP_MANIFEST
CHECKSUMS_FILE = "checksums.txt"
ARCHIVES = "archives"
ADOPTED = "adopted"
CONTENTS = "attachments"

VERSION = 1
_CHECKSUM = "sha256"
_MAX_MANIFEST_BYTES = 64 * 1024 * 1024
_MOST_PARTS = 8 * 2 * 100_000
"""Of a manifest. An archive is at most seven texts and five other marks; each may have been adopted by another."""
_MAX_LINE_BYTES = 1_024
_CHUNK = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,254}")
_STORE_ID = re.compile(r"[0-9A-Za-z_-]{1,100}")
_FILE = re.compile(
    rf"{re.escape(DATABASE_FILE)}|(?:{ARCHIVES}|{ADOPTED})/[a-z0-9][a-z0-9-]{{0,254}}\.bundle|"
    rf"{CONTENTS}/([0-9a-f]{{2}})/\1[0-9a-f]{{62}}"
)


class UnreadableBackup(InvalidInput):
    """A folder that is no backup, or is damaged."""


class NewerBackup(Conflict):
    """A backup that a newer version of this program has made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedArchive:
    """An archive in a backup, or that there is nothing of it yet (no `commit`). `work_tree`: the folder outside of the
    store where its files lie.
    """

    slug: str
    commit: str | None
    work_tree: str | None = None
    is_adopted: bool = False

    @property
    def path(self) -> str:
        return f"{ADOPTED if self.is_adopted else ARCHIVES}/{self.slug}.bundle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`bytes` are those of all files, the manifest left out. `findings` is why it is not `verified`, told in words.
    `number`: above those of all backups that lay in the same folder; 0 where that was not asked, as it once was.
    """

    store_id: str
    schema_version: int
    program: str
    created: str
    messages: int
    archives: tuple[SavedArchive, ...]
    bytes: int
    checksums_sha256: str
    verified: bool
    findings: tuple[str, ...] = ()
    number: int = 0

    @property
    def projects(self) -> int:
        return sum(not archive.is_adopted for archive in self.archives)

    def to_text(self) -> str:
        said = {"kind": BACKUP_KIND, "version": VERSION, **asdict(self)}
        return json.dumps({**said, _CHECKSUM: manifest_checksum(said)}, indent=1)


# As JSON has it.
def manifest_checksum(said: dict[str, Any]) -> str:
    """The SHA-256 of all that a manifest says but this, however it is laid out."""
    rest = {name: value for name, value in said.items() if name != _CHECKSUM}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """A file as the backup's checksums have it."""

    path: str
    bytes: int
    sha256: str

    def to_line(self) -> str:
        return f"{self.sha256}  {self.bytes}  {self.path}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupFault:
    """A file of a backup that is not as the backup says: `missing`, `different`, `unexpected`, `unreadable`."""

    path: str
    problem: str
    evidence: str


def is_backup(folder: Path) -> bool:
    """Does a folder say that it is a backup, whole or not?"""
    return os.path.lexists(folder / MANIFEST_FILE)


def read_manifest(folder: Path) -> Manifest:
    """Raises UnreadableBackup, NewerBackup. Reads no other file."""
    try:
        with opened(folder) as fd:
            content = read_plain(MANIFEST_FILE, _MAX_MANIFEST_BYTES, follow=False, dir_fd=fd)
    except UnfitFile as unfit:
        raise _unreadable(folder, unfit.message) from unfit
    except OSError as failed:
        raise _unreadable(folder, f"{failed.strerror}.") from failed
    if content is None:
        raise _unreadable(folder, f"It has no {MANIFEST_FILE}.")
    try:
        return _parsed(read_bounded(content, _MOST_PARTS), folder)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as wrong:
        raise _unreadable(folder, f"Its {MANIFEST_FILE} does not say what a backup is.") from wrong


# As JSON has it.
def _parsed(found: dict[str, Any], folder: Path) -> Manifest:
    if found["kind"] != BACKUP_KIND:
        raise ValueError
    if not isinstance(found["version"], int) or found["version"] > VERSION:
        raise NewerBackup(
            f"{folder} was made by a newer version of mcp-agent-mail ({str(found.get('program'))[:40]}).",
            hint="Restore it with that version, or a later one.",
            data={"path": str(folder)},
        )
    _require_as_made(found, folder)
    numbers = [found[name] for name in ("schema_version", "messages", "bytes")] + [found.get("number", 0)]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise ValueError
    if not _STORE_ID.fullmatch(found["store_id"]) or not _SHA256.fullmatch(found["checksums_sha256"]):
        raise ValueError
    archives = tuple(_archive(one) for one in found["archives"])
    if len({archive.path for archive in archives}) != len(archives):
        raise ValueError
    return Manifest(
        store_id=found["store_id"],
        schema_version=numbers[0],
        program=str(found["program"]),
        created=str(found["created"]),
        messages=numbers[1],
        archives=archives,
        bytes=numbers[2],
        checksums_sha256=found["checksums_sha256"],
        verified=found["verified"] is True,
        findings=tuple(map(str, found["findings"])),
        number=numbers[3],
    )


# Likewise.
def _require_as_made(found: dict[str, Any], folder: Path) -> None:
    if found[_CHECKSUM] != manifest_checksum(found):
        raise _unreadable(folder, f"Its {MANIFEST_FILE} is another than it was made with.")


# Likewise.
def _archive(one: dict[str, Any]) -> SavedArchive:
    slug, commit, work_tree = one["slug"], one["commit"], one["work_tree"]
    if not _SLUG.fullmatch(slug) or not (commit is None or _COMMIT.fullmatch(commit)):
        raise ValueError
    if work_tree is not None and not Path(work_tree).is_absolute():
        raise ValueError
    return SavedArchive(slug=slug, commit=commit, work_tree=work_tree, is_adopted=one["is_adopted"] is True)


def check_backup(folder: Path, manifest: Manifest) -> Iterator[BackupFault]:
    """Read every byte, and tell of each file that is not as it was made. Memory stays the same however many."""
    found = hashlib.sha256()
    try:
        with opened(folder) as fd, opened_file(fd, CHECKSUMS_FILE) as file, open(file, "rb", closefd=False) as lines:
            there = _files(folder)
            yield from _compared(folder, _listed(lines, found), there)
    except (OSError, ValueError) as unreadable:
        yield BackupFault(path=CHECKSUMS_FILE, problem="unreadable", evidence=_words(unreadable))
        return
    if found.hexdigest() != manifest.checksums_sha256:
        evidence = f"its SHA-256 is {found.hexdigest()}"
        yield BackupFault(path=CHECKSUMS_FILE, problem="different", evidence=evidence)


def listed_files(folder: Path) -> Iterator[ListedFile]:
    """The files of a backup as its checksums have them, by name. Raises OSError, ValueError."""
    with opened(folder) as fd, opened_file(fd, CHECKSUMS_FILE) as file, open(file, "rb", closefd=False) as lines:
        yield from _listed(lines, hashlib.sha256())


def _compared(folder: Path, listed: Iterator[ListedFile], there: Iterator[str]) -> Iterator[BackupFault]:
    """Two sorted listings side by side."""
    name = next(there, None)
    for file in listed:
        while name is not None and name < file.path:
            yield _unexpected(name)
            name = next(there, None)
        if name != file.path:
            yield BackupFault(path=file.path, problem="missing", evidence="the backup was made with it")
            continue
        name = next(there, None)
        if fault := _fault_of(folder, file):
            yield fault
    while name is not None:
        yield _unexpected(name)
        name = next(there, None)


def _unexpected(name: str) -> BackupFault:
    return BackupFault(path=name, problem="unexpected", evidence="the backup was made without it")


def _fault_of(folder: Path, file: ListedFile) -> BackupFault | None:
    hashed, size = hashlib.sha256(), 0
    try:
        with opened_of(folder, file.path) as stream:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > file.bytes:
                    break
                hashed.update(chunk)
    except OSError as failed:
        return BackupFault(path=file.path, problem="unreadable", evidence=_words(failed))
    if size != file.bytes:
        evidence = f"it has {'more' if size > file.bytes else 'fewer'} than the {file.bytes} bytes that it was made of"
    elif hashed.hexdigest() != file.sha256:
        evidence = f"its SHA-256 is {hashed.hexdigest()}"
    else:
        return None
    return BackupFault(path=file.path, problem="different", evidence=evidence)


def opened_of(folder: Path, path: str) -> IO[bytes]:
    """A file of a backup, to be read and closed. Raises OSError for anything but a plain file on the way to it."""
    if not _FILE.fullmatch(path):
        raise NotAFile(errno.EINVAL, "is no name of a backup's file", path)
    below, _, name = path.rpartition("/")
    with opened(folder, below) as fd, opened_file(fd, name) as file:
        return os.fdopen(os.dup(file), "rb")


def _listed(lines: IO[bytes], found: hashlib._Hash) -> Iterator[ListedFile]:
    """In their order, which is that of their names. Raises ValueError for what is no such list."""
    last = ""
    while line := lines.readline(_MAX_LINE_BYTES):
        found.update(line)
        sha256, size, path = line.decode("ascii").removesuffix("\n").split("  ")
        if not _SHA256.fullmatch(sha256) or not _FILE.fullmatch(path) or path <= last or not line.endswith(b"\n"):
            raise ValueError(f"{line[:100]!r} names no file of a backup")
        last = path
        yield ListedFile(path=path, bytes=int(size), sha256=sha256)


def _files(folder: Path, below: str = "") -> Iterator[str]:
    """The paths of everything in a backup but what describes it, sorted. What is no folder counts as a file."""
    with opened(folder, below) as fd:
        names = sorted(names_in(fd))
    for name in names:
        path = f"{below}/{name}" if below else name
        if path in (MANIFEST_FILE, CHECKSUMS_FILE):
            continue
        if _is_folder(folder, path):
            yield from _files(folder, path)
        else:
            yield path


def _is_folder(folder: Path, path: str) -> bool:
    try:
        with opened(folder, path):
            return True
    except OSError:
        return False


def _unreadable(folder: Path, why: str) -> UnreadableBackup:
    return UnreadableBackup(
        f"{folder} is no backup that can be used: {why}",
        hint="`am doctor backups --check` says which are whole.",
        data={"path": str(folder)},
    )


def _words(failed: OSError | ValueError) -> str:
    return str(failed.strerror if isinstance(failed, OSError) and failed.strerror else failed)
