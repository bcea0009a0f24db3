"""Files that a caller may attach: of its project's directory and archive, opened so that no path leads elsewhere.

A path is walked name by name, each folder opened in the one before. A link is read and what it says is walked likewise:
the system follows none. So what is opened is what was judged, whoever exchanges folders and links meanwhile. Outside of
what is lent the disk is not looked at: a path comes in where it spells a lent folder's own path, or not at all.

All of it may wait for a disk: callers run it on threads.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections import deque
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import UnfitFile, open_real_folder
from mcp_agent_mail.domain.attachments import ATTACHMENTS_FOLDER, find_digest
from mcp_agent_mail.workspace.lent_places import (
    WHOLE_DISK,
    Identity,
    LentFolder,
    LentPlaces,
    LentRoot,
    ServerNames,
    identity,
    is_made_up,
)
from mcp_agent_mail.workspace.own_products import is_own_product, is_part_of_store, is_written_by_us

MAX_PATH = 4_096
"""Characters of a path."""
MAX_LINKS = 40
MAX_STEPS = 4_096
"""Names that are walked for one path, those that its links say included."""

_SHOWN = 200
_OF_THE_SERVER = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""What fails through no fault of the path."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a FIFO that takes the file's place would be waited for.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class NotLent(InvalidInput):
    """A path that leaves what is lent, or leads to what never is. It says the same whether anything lies there."""


class LentFileNotFound(NotFound):
    """Nothing lies at a path inside what is lent."""


@dataclass(frozen=True, slots=True)
class LentRoots:
    """Where a caller's files may lie. All paths are absolute; links on those of `never` and `apart` count as what they
    lead to.

    `workspaces`: looked into in this order, as they were found: nothing that has taken the place of one is. One that
    holds a folder of `never`, or the home of the server's user, lends nothing. `archive`: the project's, looked into
    last, and lent wherever it lies, but for what the server writes there. `never`: nothing below is lent otherwise
    (STORAGE_ROOT). `apart`: nor below these, but a workspace around them is lent (BACKUP_DIR). `elsewhere`: directories
    that lead to others by now, and lend nothing. `own_names`: folders that are lent but for some names (that of a
    database which lies outside of `never`).
    """

    workspaces: tuple[LentFolder, ...]
    archive: LentFolder | None
    never: tuple[Path, ...]
    apart: tuple[Path, ...] = ()
    elsewhere: tuple[Path, ...] = ()
    own_names: tuple[ServerNames, ...] = ()


@dataclass(frozen=True, slots=True)
class ArchivedContent:
    """A path leads to where an archive would keep this content; whether it does was not looked at."""

    sha256: str


class LentFile:
    """A plain file, opened for reading until the `with` ends: `descriptor`, its `path` without links, `size` in bytes
    as it was opened.
    """

    __slots__ = ("descriptor", "path", "size")

    def __init__(self, descriptor: int, path: Path, size: int) -> None:
        self.descriptor = descriptor
        self.path = path
        self.size = size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Safe to repeat."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def open_lent(path: str, roots: LentRoots, *, may_be_anywhere: bool) -> LentFile | ArchivedContent:
    """The plain file that a caller names. A relative path is looked for in the workspaces, then in the archive. What
    an archive keeps of attachments is not opened: who may have it follows from the mail that carries it.

    `may_be_anywhere`: files outside of these too; what is never lent stays so. Raises LentFileNotFound, NotLent, and
    UnfitFile for what is no path or no plain file. Never waits for a FIFO or device.
    """
    _require_path(path)
    places = LentPlaces(
        workspaces=roots.workspaces,
        archive=roots.archive,
        never=roots.never,
        apart=roots.apart,
        own_names=roots.own_names,
        may_be_anywhere=may_be_anywhere,
    )
    begins: list[LentRoot | None] = [None] if path.startswith("/") else [*places.roots]
    for begin in begins:
        with suppress(FileNotFoundError, NotADirectoryError), _Walk(places, path) as walk:
            return walk.open_file(begin)
    if places.withheld:
        raise _withheld_workspace(places)
    if roots.elsewhere:
        raise _leads_elsewhere(roots.elsewhere[0])
    raise _missing(path)


def _require_path(path: str) -> None:
    if not path.strip():
        raise UnfitFile("An empty path names no file.", hint=_HOW, data={"path": path[:_SHOWN]})
    if len(path) > MAX_PATH:
        raise _unfit(path, f"has more than {MAX_PATH:,} characters")
    if any(unicodedata.category(letter) == "Cc" for letter in path):
        raise _unfit(path, "holds a control character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise _unfit(path, "holds letters that no file's name has") from None


@dataclass(frozen=True, slots=True)
class _Spot:
    """A folder on the way: its path without links, and what it is."""

    parts: tuple[str, ...]
    identity: Identity
    in_archive: bool


class _Walk:
    """One path's way. One folder is open at a time, so that a deep path costs no descriptors."""

    def __init__(self, places: LentPlaces, path: str) -> None:
        self._places = places
        self._path = path
        self._left = deque(path.split("/"))
        self._links = self._steps = 0
        self._fd = -1
        self._base = 0
        self._spots: list[_Spot] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stand_in(-1)

    def open_file(self, root: LentRoot | None) -> LentFile | ArchivedContent:
        """From `root`, or from outside with a path that begins with `/`.

        Raises FileNotFoundError or NotADirectoryError where nothing lies, else what `open_lent` raises.
        """
        try:
            if root is None:
                self._come_in([])
            else:
                self._enter(root)
            return self._follow()
        except (FileNotFoundError, NotADirectoryError):
            raise
        except OSError as failed:
            if failed.errno in _OF_THE_SERVER:
                raise
            raise _unfit(self._path, f"cannot be read: {failed.strerror}") from failed

    def _follow(self) -> LentFile | ArchivedContent:
        while self._left:
            name = self._left.popleft()
            if (content := self._archived(name)) is not None:
                return content
            self._count_step()
            if name == "..":
                self._go_up()
            elif name not in ("", "."):
                found = self._look(name)
                if stat.S_ISLNK(found.st_mode):
                    self._read_link(name)
                elif stat.S_ISDIR(found.st_mode):
                    self._go_down(name)
                elif self._left:
                    raise NotADirectoryError
                elif not stat.S_ISREG(found.st_mode):
                    raise _unfit(self._path, "is no plain file")
                else:
                    return self._open_file(name)
        raise UnfitFile(f"{_shown(self._path)} is a folder.", hint=_EACH_FILE, data={"path": self._path[:_SHOWN]})

    def _archived(self, name: str) -> ArchivedContent | None:
        if name != ATTACHMENTS_FOLDER or not self._spots[-1].in_archive:
            return None
        sha256 = find_digest("/".join((name, *self._left)))
        return None if sha256 is None else ArchivedContent(sha256)

    def _look(self, name: str) -> os.stat_result:
        spot = self._spots[-1]
        if self._places.is_unlent_name(spot.parts, name, in_archive=spot.in_archive, known=spot.identity):
            raise _withheld(self._path)
        if not self._places.has_own_names(spot.identity) and is_part_of_store(self._fd, name):
            raise _withheld(self._path)
        return os.stat(name, dir_fd=self._fd, follow_symlinks=False)

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise _unfit(self._path, "leads through more folders than are entered")

    def _read_link(self, name: str) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise _unfit(self._path, "leads through more links than are followed")
        target = os.readlink(name, dir_fd=self._fd)
        self._left.extendleft(reversed(target.split("/")))
        if target.startswith("/"):
            self._come_in([])

    def _go_up(self) -> None:
        if len(self._spots) > 1:
            self._spots.pop()
            above = os.open("..", _FOLDER, dir_fd=self._fd)
            self._stand_in(above)
            # Whoever moves a folder while it is walked moves what is above it.
            if identity(os.fstat(above)) != self._spots[-1].identity:
                raise _unfit(self._path, "was moved while it was looked for")
        elif self._base:
            self._come_in(list(self._spots[0].parts[:-1]))

    def _go_down(self, name: str) -> None:
        spot = self._spots[-1]
        try:
            below = os.open(name, _FOLDER, dir_fd=self._fd)
        except (FileNotFoundError, NotADirectoryError) as exchanged:
            raise _unfit(self._path, "was exchanged while it was looked for") from exchanged
        self._stand_in(below)
        found = os.fstat(below)
        self._require_lent(found)
        if is_written_by_us(below, name):
            raise _withheld(self._path)
        parts = (*spot.parts, name)
        self._spots.append(_Spot(parts, identity(found), self._places.is_archive(name, found)))

    def _require_lent(self, folder: os.stat_result) -> None:
        if self._places.is_unlent(folder):
            raise _withheld(self._path)
        if not self._base and self._places.is_withheld(folder):
            raise _withheld_workspace(self._places)

    def _come_in(self, outside: list[str]) -> None:
        """Go on from a folder outside, by the names alone, until they spell a root's path."""
        asked = [*outside, *self._left]
        while (root := self._places.root_at(outside)) is None and self._left:
            name = self._left.popleft()
            self._count_step()
            if name == ".." and not self._places.may_be_anywhere:
                del outside[-1:]
            elif name == "..":
                # What `..` is there, only the disk knows.
                break
            elif name not in ("", "."):
                outside.append(name)
        if root is None:
            if not self._places.may_be_anywhere:
                raise _withheld_workspace(self._places) if self._places.withheld else _outside(self._path)
            root, self._left = WHOLE_DISK, deque(asked)
        self._enter(root)

    def _enter(self, root: LentRoot) -> None:
        self._base = len(root.parts)
        if root.is_of_store:
            self._begin(open_real_folder(root.path), root.parts, in_archive=True)
        else:
            # Walked from `/` on: a project may be begun anywhere, in a Git directory too.
            self._begin(os.open("/", _FOLDER), (), in_archive=False)
            for name in root.parts:
                if not stat.S_ISDIR(self._look(name).st_mode):
                    raise NotADirectoryError
                self._go_down(name)
            del self._spots[:-1]
        if root.identity not in (None, self._spots[0].identity):
            raise _unfit(self._path, "was moved while it was looked for")

    def _begin(self, fd: int, parts: tuple[str, ...], *, in_archive: bool) -> None:
        self._stand_in(fd)
        found = os.fstat(fd)
        if not in_archive:
            self._require_lent(found)
        self._spots = [_Spot(parts, identity(found), in_archive)]

    def _stand_in(self, fd: int) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = fd

    def _open_file(self, name: str) -> LentFile:
        descriptor = os.open(name, _FILE, dir_fd=self._fd)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or is_made_up(found):
                raise _unfit(self._path, "is no plain file")
            if self._places.is_unlent_file(found) or is_own_product(descriptor):
                raise _withheld(self._path)
        except BaseException:
            os.close(descriptor)
            raise
        return LentFile(descriptor, Path("/", *self._spots[-1].parts, name), found.st_size)


_HOW = "Give a path relative to the project's directory, or the content itself as a data: URI."
_EACH_FILE = "Name each of its files, or put them into one archive file (tar, zip) and name that."
_AS_IT_STANDS = "A path is taken as it stands: `~` is not expanded, and a URL is none."


def _missing(path: str) -> LentFileNotFound:
    hint = f"{_AS_IT_STANDS} {_HOW}" if path.startswith("~") or "://" in path else f"See that it is written. {_HOW}"
    return LentFileNotFound(f"There is no file {_shown(path)}.", hint=hint, data={"path": path[:_SHOWN]})


def _outside(path: str) -> NotLent:
    hint = f"{_HOW} Files elsewhere are the operator's to send, or everybody's with ALLOW_ABSOLUTE_ATTACHMENT_PATHS."
    return NotLent(f"{_shown(path)} leads out of the project's directory.", hint=hint, data={"path": path[:_SHOWN]})


def _withheld(path: str) -> NotLent:
    return NotLent(
        f"{_shown(path)} leads to what is never lent: a Git directory, what an archive keeps, or the server's own "
        "files.",
        hint=_HOW,
        data={"path": path[:_SHOWN]},
    )


def _withheld_workspace(places: LentPlaces) -> NotLent:
    workspace = str(places.withheld[0])
    return NotLent(
        f"{workspace} lends no files: the server's own files or its home directory lie in it.",
        hint="Attach from a project whose directory holds its own files alone, or give the content itself "
        "as a data: URI.",
        data={"workspace": workspace},
    )


def _leads_elsewhere(directory: Path) -> NotLent:
    return NotLent(
        f"{str(directory)[:_SHOWN]} lends no files: by links it leads to a directory that is none of the project's.",
        hint="Name the project by the directory itself, without links, or give the content as a data: URI.",
        data={"workspace": str(directory)[:_SHOWN]},
    )


def _unfit(path: str, why: str) -> UnfitFile:
    return UnfitFile(f"{_shown(path)} {why}.", hint=_HOW, data={"path": path[:_SHOWN]})


def _shown(path: str) -> str:
    return repr(path[:_SHOWN])
