"""Folders of a repository's Git directory, each opened once and without following a link: what is done in one stays
in it, whatever takes its place on the disk meanwhile. Files in them are read bounded, and only if they are ordinary.

Where this one starts was read from a stranger's files: nothing on the whole way may be a link, and one there is told as
the guard's. (An archive's folders are opened by `archive/folders`.)
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import UnfitFile, open_real_folder, read_plain

MAX_HOOK_BYTES = 1024 * 1024
"""A larger hook is somebody's program: it is kept and run, and not looked into."""

_EXECUTABLE = 0o755
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class NothingPlainThere(Conflict):
    """A link, a FIFO, a device or a file lies where the guard has to write or to make a folder."""


def not_plain(path: Path, belongs: str) -> NothingPlainThere:
    """The refusal to write at `path`, to be raised by the caller; `belongs` is what ought to lie there, such as
    `folder`.
    """
    what = "a symbolic link" if path.is_symlink() else f"no {belongs}"
    return NothingPlainThere(
        f"{path} is {what}, and the guard writes only into ordinary files and folders of the repository itself.",
        hint=f"Look at it, and put an ordinary {belongs} in its place: ls -ld {path}",
        data={"path": str(path)},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFolder:
    """`descriptor` is None where there is no such folder: nothing lies in it then."""

    path: Path
    descriptor: int | None

    def file(self, name: str) -> HookFile:
        return HookFile(folder=self, name=name)

    def names(self) -> list[str]:
        return sorted(os.listdir(self.descriptor)) if self.descriptor is not None else []  # noqa: PTH208

    @property
    def opened(self) -> int:
        if self.descriptor is None:
            raise FileNotFoundError(f"{self.path} is not there")
        return self.descriptor


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFile:
    """A name in a folder, and what lies there now."""

    folder: HookFolder
    name: str

    @property
    def path(self) -> Path:
        return self.folder.path / self.name

    def beside(self, suffix: str) -> HookFile:
        return HookFile(folder=self.folder, name=self.name + suffix)

    def mode(self) -> int | None:
        """The mode of what lies here, a dangling link included; None where nothing does."""
        if self.folder.descriptor is None:
            return None
        try:
            return os.lstat(self.name, dir_fd=self.folder.descriptor).st_mode
        except FileNotFoundError:
            return None

    def lies_here(self) -> bool:
        return self.mode() is not None

    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode() or 0)

    def link_target(self) -> str:
        return os.readlink(self.name, dir_fd=self.folder.opened)

    def is_runnable(self) -> bool:
        """Whether an ordinary file, or a link to one, lies here that its owner may run."""
        with suppress(OSError):
            mode = os.stat(self.name, dir_fd=self.folder.opened).st_mode
            return stat.S_ISREG(mode) and bool(mode & stat.S_IXUSR)
        return False

    def is_ordinary(self) -> bool:
        """Whether a file, or a link to one, lies here: what a hook can be."""
        with suppress(OSError):
            return stat.S_ISREG(os.stat(self.name, dir_fd=self.folder.opened).st_mode)
        return False

    def content(self, *, follow: bool = True) -> bytes | None:
        """None where there is no ordinary file, or one that is too large to be looked into."""
        if self.folder.descriptor is None:
            return None
        try:
            return read_plain(self.name, MAX_HOOK_BYTES, follow=follow, dir_fd=self.folder.descriptor)
        except UnfitFile:
            return None

    def unlink(self) -> None:
        """Remove what lies here; nothing happens where nothing does."""
        if self.folder.descriptor is not None:
            with suppress(FileNotFoundError):
                os.unlink(self.name, dir_fd=self.folder.descriptor)

    def move_to(self, other: HookFile) -> None:
        """Rename what lies here to `other`, in place of what lies there."""
        os.replace(self.name, other.name, src_dir_fd=self.folder.opened, dst_dir_fd=other.folder.opened)

    def name_too(self, other: HookFile) -> None:
        """Give what lies here `other` as a second name; a link stays a link."""
        os.link(
            self.name,
            other.name,
            src_dir_fd=self.folder.opened,
            dst_dir_fd=other.folder.opened,
            follow_symlinks=False,
        )

    def write(self, content: bytes, *, mode: int = _EXECUTABLE) -> None:
        """Put a file with this content here in one step; what lies here is replaced, a link too, and never followed."""
        beside = self.beside(".agent-mail-new")
        beside.unlink()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(beside.name, flags, mode, dir_fd=self.folder.opened)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
        beside.move_to(self)


class GitDirectory:
    """The common directory of a code repository, opened; its folders are closed with it."""

    def __init__(self, path: Path, descriptor: int, opened: ExitStack) -> None:
        self.root = HookFolder(path=path, descriptor=descriptor)
        self._opened = opened

    def folder(self, *names: str, make: bool = False) -> HookFolder:
        """The folder below this one, made where `make` says so. Raises NothingPlainThere where something else than a
        folder lies on the way, a link to one included.
        """
        found = self.root
        for name in names:
            found = self._below(found, name, make=make)
        return found

    def is_link(self, name: str) -> bool:
        return self.root.file(name).is_link()

    def remove_if_empty(self, *names: str) -> None:
        with suppress(OSError):
            os.rmdir(names[-1], dir_fd=self.folder(*names[:-1]).opened)

    def _below(self, above: HookFolder, name: str, *, make: bool) -> HookFolder:
        path = above.path / name
        if above.descriptor is None:
            return HookFolder(path=path, descriptor=None)
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=above.descriptor)
        try:
            descriptor = os.open(name, _FOLDER, dir_fd=above.descriptor)
        except FileNotFoundError:
            return HookFolder(path=path, descriptor=None)
        except PermissionError:
            raise
        except OSError as failed:
            raise not_plain(path, "folder") from failed
        self._opened.callback(os.close, descriptor)
        return HookFolder(path=path, descriptor=descriptor)


@contextmanager
def open_git_directory(path: Path) -> Iterator[GitDirectory]:
    """`path` is real: no link on the way is followed. Raises NothingPlainThere."""
    with ExitStack() as opened:
        try:
            descriptor = open_real_folder(path)
        except PermissionError:
            raise
        except OSError as failed:
            raise not_plain(path, "folder") from failed
        opened.callback(os.close, descriptor)
        yield GitDirectory(path, descriptor, opened)


@contextmanager
def open_folder_of_others(path: Path) -> Iterator[HookFolder]:
    """A folder to look at only, links followed: where core.hooksPath leads. One that cannot be opened counts as not
    there.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        yield HookFolder(path=path, descriptor=None)
        return
    try:
        yield HookFolder(path=path, descriptor=descriptor)
    finally:
        os.close(descriptor)
