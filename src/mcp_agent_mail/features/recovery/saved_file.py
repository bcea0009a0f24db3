"""A saved file: one tar with the histories of archives, what they are said to be, and the SHA-256 of every member.

    manifest.json              whose archives, at which commits
    archives/<slug>.bundle     one per project, in the order of the manifest
    checksums.json             bytes and SHA-256 of all of these

There is one way to write it, so there is one way to read it: whoever reads renders each header, the manifest and the
checksums again from what they say, and takes nothing that has other bytes. Hence no links, devices, folders, foreign
names or modes, nothing twice, nothing unlisted and nothing behind the end.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.json_limits import read_bounded
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.json_text import compact, document
from mcp_agent_mail.domain.own_files import SAVED_MANIFEST
from mcp_agent_mail.domain.projects import UnfitPath, canonical_path, is_slug

FORMAT = 1
MANIFEST = SAVED_MANIFEST
CHECKSUMS = "checksums.json"
MOST_PROJECTS = 100_000

_BLOCK = tarfile.BLOCKSIZE
_MODE = 0o600
_CHUNK = 1 << 20
_MOST_TEXT_BYTES = 32 << 20
_MOST_PARTS = 8 * MOST_PROJECTS
"""Of a manifest or checksums. A project is seven texts and five other marks, in three hundred bytes."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_STORE_ID = re.compile(r"[0-9A-Za-z-]{1,100}")
_NAME_ONE = "Name a file that `am archive save` has written."
_HINT = "It was damaged, or made by hand. Take another copy of it, or save the archives again."


class UnfitSavedFile(InvalidInput):
    """No file of `am archive save`, or not as it was written. Nothing of it was taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedProject:
    """One archive as it was saved: all of its history up to `commit`."""

    slug: str
    human_key: str
    commit: str
    messages: int

    @property
    def member(self) -> str:
        return f"archives/{self.slug}.bundle"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedManifest:
    """`projects` by slug. `is_partial`: some of the store's projects were left out on purpose."""

    store_id: str
    is_partial: bool
    projects: tuple[SavedProject, ...]

    def content(self) -> bytes:
        """The bytes of the member; the same for the same archives."""
        return b"".join(self._pieces())

    def is_written_as(self, content: bytes) -> bool:
        """Are these its bytes? Never has all of it in memory once more."""
        view, at = memoryview(content), 0
        for piece in self._pieces():
            if view[at : at + len(piece)] != piece:
                return False
            at += len(piece)
        return at == len(content)

    def _pieces(self) -> Iterator[bytes]:
        """As `document` writes it, project by project."""
        listed: list[object] = []
        said = {"format": FORMAT, "partial": self.is_partial, "projects": listed, "store_id": self.store_id}
        before, after = document(said).split(b"[]")
        yield before + b"["
        for number, project in enumerate(self.projects):
            yield (b", " if number else b"") + compact(asdict(project)).encode()
        yield b"]" + after


def require_writable_name(slug: str) -> None:
    """Raise UnfitSavedFile for a slug that no member can be named after: the server makes no such one."""
    if not is_slug(slug):
        raise UnfitSavedFile(f"{slug!r:.200} is no slug that a member can be named after.")


class SavedFileWriter:
    """Writes a saved file into `out`, in order: the manifest, each archive, then `finish`. Keeps nothing in memory but
    checksums.
    """

    def __init__(self, out: BinaryIO, manifest: SavedManifest) -> None:
        self._out = out
        self._hashed = hashlib.sha256()
        self._checksums: dict[str, dict[str, Any]] = {}  # `bytes` and `sha256` of each member
        self.bytes = 0
        content = manifest.content()
        if len(content) > _MOST_TEXT_BYTES:
            raise UnfitSavedFile(
                f"A saved file tells of its projects in at most {_MOST_TEXT_BYTES >> 20} MiB; these need more.",
                hint="Save some of them at a time: am archive save --project",
            )
        self._add(MANIFEST, len(content), [content])

    @property
    def sha256(self) -> str:
        """Of all that has been written."""
        return self._hashed.hexdigest()

    def add(self, project: SavedProject, size: int, pieces: Iterable[bytes]) -> None:
        """`pieces` have `size` bytes together."""
        self._add(project.member, size, pieces)

    def finish(self) -> None:
        content = document(self._checksums)
        self._add(CHECKSUMS, len(content), [content])
        self._write(bytes(_ending(self.bytes)))

    def _add(self, name: str, size: int, pieces: Iterable[bytes]) -> None:
        self._write(_header(name, size))
        hashed, written = hashlib.sha256(), 0
        for piece in pieces:
            hashed.update(piece)
            written += len(piece)
            self._write(piece)
        assert written == size, name
        self._write(bytes(-size % _BLOCK))
        self._checksums[name] = {"bytes": size, "sha256": hashed.hexdigest()}

    def _write(self, content: bytes) -> None:
        self._out.write(content)
        self._hashed.update(content)
        self.bytes += len(content)


@contextmanager
def open_saved(path: Path) -> Iterator[SavedFile]:
    """To be read once, from its beginning to its end. Never waits for a writer. Raises UnfitSavedFile."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as failed:
        raise UnfitSavedFile(f"{path} cannot be read: {failed.strerror}.", hint=_NAME_ONE) from failed
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise UnfitSavedFile(f"{path} is no ordinary file.", hint=_NAME_ONE)
        with open(descriptor, "rb", closefd=False) as stream:
            yield SavedFile(path, stream, facts.st_size)
    finally:
        os.close(descriptor)


class SavedFile:
    """`manifest` is what stands in it; nothing is proven until `finish` has come back."""

    def __init__(self, path: Path, stream: BinaryIO, size: int) -> None:
        self._path = path
        self._stream = stream
        self._left = size
        self._hashed = hashlib.sha256()
        self._checksums: dict[str, dict[str, Any]] = {}  # as the writer's
        self.bytes = size
        content = self._text(MANIFEST)
        self.manifest = self._parsed(content)
        if not self.manifest.is_written_as(content):
            raise self._unfit(f"{MANIFEST} is not as it is written")

    @property
    def sha256(self) -> str:
        """Of all that has been read: after `finish`, of the file."""
        return self._hashed.hexdigest()

    def pieces(self, project: SavedProject) -> Iterator[bytes]:
        """The bundle of the next project of the manifest, to be read to its end."""
        yield from self._member(project.member, self._opened(project.member))

    def finish(self) -> None:
        """After the last project: compare all that was read with the checksums. Raises UnfitSavedFile."""
        wanted = dict(self._checksums)
        content = self._text(CHECKSUMS)
        if document(wanted) != content:
            self._tell_difference(wanted, content)
        ending = _ending(self.bytes - self._left)
        if self._left != ending or self._read(ending) != bytes(ending):
            raise self._unfit("something is missing at its end, or follows it")

    def _tell_difference(self, wanted: Mapping[str, dict[str, Any]], content: bytes) -> NoReturn:
        try:
            found = read_bounded(content, _MOST_PARTS)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._unfit(f"{CHECKSUMS} cannot be read")
        for name, checksum in wanted.items():
            if found.get(name) != checksum:
                raise self._unfit(f"{name} is not what its checksum says", member=name)
        raise self._unfit(f"{CHECKSUMS} is not as it is written", member=CHECKSUMS)

    def _text(self, name: str) -> bytes:
        size = self._opened(name)
        if size > _MOST_TEXT_BYTES:
            raise self._unfit(f"{name} has {size:,} bytes", member=name)
        return b"".join(self._member(name, size))

    def _opened(self, name: str) -> int:
        """The size of the member that comes next, which must be `name`. Its header is compared byte for byte."""
        header = self._read(_BLOCK)
        try:
            size = tarfile.nti(header[124:136])  # type: ignore[attr-defined]  # not in the stubs
        except tarfile.HeaderError:
            size = -1
        if not 0 <= size <= self._left or header != _header(name, size):
            raise self._unfit(f"where the member {name} belongs, something else lies", member=name)
        return int(size)

    def _member(self, name: str, size: int) -> Iterator[bytes]:
        hashed, left = hashlib.sha256(), size
        while left:
            piece = self._read(min(_CHUNK, left))
            left -= len(piece)
            hashed.update(piece)
            yield piece
        self._checksums[name] = {"bytes": size, "sha256": hashed.hexdigest()}
        if any(self._read(-size % _BLOCK)):
            raise self._unfit(f"what fills {name} up is not empty", member=name)

    def _read(self, size: int) -> bytes:
        found = self._stream.read(size) if size <= self._left else b""
        if len(found) != size:
            raise self._unfit("it ends too early")
        self._left -= size
        self._hashed.update(found)
        return found

    def _parsed(self, content: bytes) -> SavedManifest:
        try:
            return _manifest_of(read_bounded(content, _MOST_PARTS))
        except _NewerFile as newer:
            raise UnfitSavedFile(
                f"{self._path} is in format {newer} of saved files; this program knows {FORMAT}.",
                hint="Use the version of mcp-agent-mail that has written it.",
            ) from newer
        except (ValueError, KeyError, TypeError, RecursionError, UnfitPath) as wrong:
            raise self._unfit(f"{MANIFEST} cannot be read", member=MANIFEST) from wrong

    def _unfit(self, why: str, *, member: str | None = None) -> UnfitSavedFile:
        data = {"file": str(self._path)} | ({} if member is None else {"member": member})
        return UnfitSavedFile(f"{self._path} is no whole saved file: {why}.", hint=_HINT, data=data)


class _NewerFile(Exception):
    """The number of its format."""


def _header(name: str, size: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, _MODE
    return entry.tobuf(tarfile.GNU_FORMAT, "ascii", "strict")


def _ending(size: int) -> int:
    """How many empty bytes follow `size` bytes of members: two blocks, filled up as tape drives liked it."""
    return 2 * _BLOCK + -(size + 2 * _BLOCK) % tarfile.RECORDSIZE


# JSON that anybody may have written.
def _manifest_of(value: Any) -> SavedManifest:  # noqa: ANN401
    number = _number(value["format"])
    if number > FORMAT:
        raise _NewerFile(number)
    projects = tuple(_project_of(one) for one in value["projects"])
    slugs = [project.slug for project in projects]
    if sorted(set(slugs)) != slugs or len(slugs) > MOST_PROJECTS:
        raise ValueError("projects are not in order")
    if not isinstance(value["partial"], bool):
        raise TypeError("partial")
    return SavedManifest(store_id=_text(value["store_id"], _STORE_ID), is_partial=value["partial"], projects=projects)


def _project_of(value: Mapping[str, Any]) -> SavedProject:
    require_writable_name(str(value["slug"]))
    human_key = value["human_key"]
    if not isinstance(human_key, str) or canonical_path(human_key) != human_key:
        raise ValueError("human_key")
    return SavedProject(
        slug=str(value["slug"]),
        human_key=human_key,
        commit=_text(value["commit"], _COMMIT),
        messages=_number(value["messages"]),
    )


def _text(value: object, form: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        raise ValueError(form.pattern)
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("no number")
    return value
