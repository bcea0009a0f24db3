"""What one caller is lent of the disk, and what is never lent, whatever leads there.

A folder is known by what it is (device and inode) beside its path: another letter case or a second mount hides nothing.
"""

from __future__ import annotations

import os
import pwd
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import open_real_folder, real_path
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE, OWN_FOLDERS

_GIT = ".git"
_WORKSPACE_ARCHIVE = ".mcp-mail"
_OF_ARCHIVES = (ARCHIVE_FILE, *OWN_FOLDERS)
"""What the server writes of an archive. It holds held, private and blind mail; what else lies there is its owner's."""
_BEGIN_OF_ARCHIVES = (_GIT, ".agent-mail")
"""So begins what is beside it, and what is being written."""
_KERNELS_OWN = (("proc",), ("sys",))
_MADE_UP = frozenset(
    b"autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts efivarfs fusectl mqueue nsfs proc pstore "
    b"securityfs selinuxfs sysfs tracefs".split()
)
"""Kinds of file systems whose files the kernel makes up while they are read."""

Identity = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LentFolder:
    """A folder as one look at the disk has found it: how it was named, its `path` without links, and what it is, by
    which it is known again. None where nothing was there.
    """

    named: Path
    path: Path
    identity: Identity | None


def find_folder(named: Path) -> LentFolder:
    """What an absolute path leads to now. Raises UnfitFile for what leads nowhere at all."""
    return folder_at(_real(named), named=named)


def folder_at(path: Path, *, named: Path | None = None) -> LentFolder:
    """The folder at a path that has no link: a link that has taken the place of one of its folders is not followed."""
    found: Identity | None = None
    with suppress(OSError):
        fd = open_real_folder(path, to_list=False)
        try:
            found = identity(os.fstat(fd))
        finally:
            os.close(fd)
    return LentFolder(named=named or path, path=path, identity=found)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFolders:
    """Those that were named and that are the project's, as they were `found`; and those named that lead `elsewhere`."""

    found: tuple[LentFolder, ...] = ()
    elsewhere: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class LentRoot:
    """A folder from which paths are walked: the names of its path without links, and what has to be there.
    `is_of_store`: an archive whose files lie in the store.
    """

    parts: tuple[str, ...]
    identity: Identity | None = field(default=None, compare=False)
    is_of_store: bool = field(default=False, compare=False)

    @property
    def path(self) -> Path:
        return Path("/", *self.parts)


WHOLE_DISK = LentRoot(())


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerNames:
    """A folder that may be anybody's, in which the names are the server's that `is_own` says are."""

    folder: Path
    is_own: Callable[[str], bool]


class LentPlaces:
    """What is lent, and what is not, as the disk has it now: for one call.

    `roots`: in the order in which they are looked into. `withheld`: workspaces that lend nothing.
    """

    def __init__(
        self,
        *,
        workspaces: Iterable[LentFolder],
        archive: LentFolder | None,
        never: Iterable[Path],
        apart: Iterable[Path],
        own_names: Iterable[ServerNames] = (),
        may_be_anywhere: bool,
    ) -> None:
        self.may_be_anywhere = may_be_anywhere
        self.roots: list[LentRoot] = []
        self.withheld: list[Path] = []
        self._spelt: dict[tuple[str, ...], LentRoot] = {}
        kept = [_real(folder) for folder in never]
        around = {above for folder in (*kept, *_homes()) for above in (folder, *folder.parents)}
        self._around = around, set(_identities(around))
        self._apart = [*kept, *map(_real, apart)]
        self._apart_parts = {folder.parts[1:] for folder in self._apart}
        self._unlent = set(_identities(self._apart))
        self._own_names = _found_names(own_names)
        self._own_folders = _identities_each(self._own_names)
        self._archive: Identity | None = None
        self._withheld: set[Identity] = set()
        for workspace in workspaces:
            if archive is None or workspace.path != archive.path:
                self._lend(workspace)
        if archive is not None:
            self._archive = archive.identity
            self._unlent.update(_identities(archive.path / name for name in (_GIT, *_OF_ARCHIVES)))
            is_of_store = any(archive.path.is_relative_to(folder) for folder in kept)
            self._add(archive, is_of_store=is_of_store)

    def _lend(self, workspace: LentFolder) -> None:
        paths, identities = self._around
        if workspace.path in paths or workspace.identity in identities:
            self.withheld.append(workspace.named)
            self._withheld.update(filter(None, [workspace.identity]))
        else:
            self._add(workspace)

    def _add(self, folder: LentFolder, *, is_of_store: bool = False) -> None:
        root = LentRoot(folder.path.parts[1:], folder.identity, is_of_store)
        if root not in self.roots:
            self.roots.append(root)
        for spelt in (root.parts, folder.named.parts[1:]):
            self._spelt.setdefault(spelt, root)

    def root_at(self, parts: Iterable[str]) -> LentRoot | None:
        """The root whose path, as it was named or without links, is spelt so."""
        return self._spelt.get(tuple(parts))

    def is_unlent_name(
        self, folder: tuple[str, ...], name: str, *, in_archive: bool, known: Identity | None = None
    ) -> bool:
        """Is what would lie there never lent, whether it does or not? `known`: which folder it is."""
        path, folded = (*folder, name), _folded(name)
        if folded == _GIT or (in_archive and (folded in _OF_ARCHIVES or folded.startswith(_BEGIN_OF_ARCHIVES))):
            return True
        if path in self._apart_parts or path in _KERNELS_OWN:
            return True
        return any(
            own.is_own(name) or own.is_own(folded)
            for own, found in zip(self._own_names, self._own_folders, strict=True)
            if own.folder.parts[1:] == folder or known in found
        )

    def has_own_names(self, known: Identity) -> bool:
        """Is it a folder of which some names are the server's?"""
        return any(known in found for found in self._own_folders)

    def is_unlent(self, found: os.stat_result) -> bool:
        return identity(found) in self._unlent

    def is_withheld(self, found: os.stat_result) -> bool:
        """Is it a workspace that lends nothing? A workspace inside of it may be lent all the same."""
        return identity(found) in self._withheld

    def is_archive(self, name: str, found: os.stat_result) -> bool:
        return _folded(name) == _WORKSPACE_ARCHIVE or identity(found) == self._archive

    def is_unlent_file(self, found: os.stat_result) -> bool:
        """Is it a file that lies right in a folder that is never lent, or under a name of the server's, whatever it was
        found by?
        """
        if self.is_unlent(found):
            return True
        own = ((names.folder, names.is_own) for names in self._own_names)
        for folder, is_own in (*((folder, _whatever) for folder in self._apart), *own):
            with suppress(OSError), os.scandir(folder) as entries:
                if any(is_own(entry.name) and _is_entry(entry, found) for entry in entries):
                    return True
        return False


def identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def is_made_up(found: os.stat_result) -> bool:
    """Does the kernel make up what the file holds, as it does below `/proc`?"""
    number = b"%d:%d" % (os.major(found.st_dev), os.minor(found.st_dev))
    with suppress(FileNotFoundError), Path("/proc/self/mountinfo").open("rb") as mounts:
        for fields in map(bytes.split, mounts):
            if fields[2] == number:
                return fields[fields.index(b"-") + 1] in _MADE_UP
    return False


def _found_names(own_names: Iterable[ServerNames]) -> list[ServerNames]:
    return [ServerNames(folder=_real(own.folder), is_own=own.is_own) for own in own_names]


def _identities_each(own_names: Iterable[ServerNames]) -> list[set[Identity]]:
    return [set(_identities([own.folder])) for own in own_names]


def _whatever(_name: str) -> bool:
    return True


def _real(folder: Path) -> Path:
    return Path(real_path(str(folder)))


def _homes() -> Iterator[Path]:
    """Of the server's user: as its environment says, and as the system does."""
    with suppress(RuntimeError):
        yield _real(Path.home())
    with suppress(KeyError):
        yield _real(Path(pwd.getpwuid(os.getuid()).pw_dir))


def _identities(paths: Iterable[Path]) -> Iterator[Identity]:
    for path in paths:
        with suppress(OSError):
            yield identity(path.stat())


def _is_entry(entry: os.DirEntry[str], found: os.stat_result) -> bool:
    with suppress(OSError):
        return entry.inode() == found.st_ino and identity(entry.stat(follow_symlinks=False)) == identity(found)
    return False


def _folded(name: str) -> str:
    """As file systems compare names that ignore case, and letters that nobody sees."""
    return "".join(letter for letter in name if unicodedata.category(letter) != "Cf").casefold()
