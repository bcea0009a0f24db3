"""A disk as POSIX promises it, and what a loss of power may leave of it.

A file has content that was synced and changes that were not. A folder has entries that were synced
and changes that were not: an fsync of a file does not make its name durable. After a loss of power
what was synced is there; of the rest any part may be there, in any order, and a write by sectors.
The milder disk is like ext4: names reach the disk in the order of their changes, and any sync takes
all earlier changes of names along; contents are as on the strict one.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.power.log import Entry, Kind

SECTOR = 512
PAGE = 4096


@dataclass(slots=True)
class Change:
    """Of a file: bytes at an offset, or a new size when `data` is None."""

    at: int
    offset: int
    data: bytes | None


@dataclass(slots=True, eq=False)
class File:
    durable: bytearray = field(default_factory=bytearray)
    now: bytearray = field(default_factory=bytearray)
    pending: list[Change] = field(default_factory=list)

    def change(self, change: Change) -> None:
        _apply(self.now, change)
        self.pending.append(change)

    def sync(self, upto: int) -> None:
        for change in self.pending:
            if change.at <= upto:
                _apply(self.durable, change)
        self.pending = [change for change in self.pending if change.at > upto]

    def after_loss(self, chance: random.Random, kept: float) -> bytearray:
        """What was synced, and of each later change all, nothing, some sectors, or its size alone."""
        content = bytearray(self.durable)
        for change in self.pending:
            fate = chance.random()
            if fate < kept:
                _apply(content, change)
            elif change.data is not None and fate < kept + (1 - kept) * 0.3:
                _tear(content, change, chance, kept)
        return content


def _apply(content: bytearray, change: Change) -> None:
    if change.data is None:
        del content[change.offset :]
        content.extend(bytes(change.offset - len(content)))
        return
    if change.offset > len(content):
        content.extend(bytes(change.offset - len(content)))
    content[change.offset : change.offset + len(change.data)] = change.data


def _tear(content: bytearray, change: Change, chance: random.Random, kept: float) -> None:
    assert change.data is not None
    size = chance.choice((SECTOR, PAGE))
    end = change.offset + len(change.data)
    if len(content) < end and chance.random() < 0.5:
        content.extend(bytes(end - len(content)))
    start = change.offset
    while start < end:
        stop = min(end, (start // size + 1) * size)
        if chance.random() < max(kept, 0.5):
            _apply(content, Change(change.at, start, change.data[start - change.offset : stop - change.offset]))
        start = stop


@dataclass(slots=True, eq=False)
class Folder:
    """`settled`: for each name the newest change on the disk, so that an older one coming later is not applied."""

    durable: dict[str, Node] = field(default_factory=dict)
    now: dict[str, Node] = field(default_factory=dict)
    settled: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Link:
    """`text` is what it says, `target` the same below the root. (Git makes one to see whether it can.)"""

    text: str
    target: str


Node = File | Folder | Link


@dataclass(slots=True)
class Naming:
    """One change of names, in one folder or, for a move, in two. It happens as a whole."""

    at: int
    parts: list[tuple[Folder, str, Node | None]]


def _settle(entries: dict[str, Node], settled: dict[str, int], at: int, name: str, node: Node | None) -> None:
    if settled.get(name, -1) > at:
        return
    settled[name] = at
    if node is None:
        entries.pop(name, None)
    else:
        entries[name] = node


class Disk:
    """Fed with a log from its start. The root itself is durable from the beginning."""

    def __init__(self) -> None:
        self.root = Folder()
        self.count = 0
        self._files: dict[int, File] = {}
        self._pending: list[Naming] = []
        self._syncs: dict[int, int] = {}

    def load(self, place: Path | None, inodes: dict[str, int]) -> None:
        """Begin with what stands there, all of it durable; `inodes`: as the log knows the files, by path."""
        if place is None:
            return
        for found in sorted(place.rglob("*")):
            path = found.relative_to(place).as_posix()
            folder, name = self._place(path)
            node: Node = Folder()
            if found.is_file():
                content = found.read_bytes()
                node = self._files.setdefault(inodes[path], File(bytearray(content), bytearray(content)))
            folder.now[name] = folder.durable[name] = node

    def feed(self, entry: Entry) -> None:
        self.count += 1
        assert entry.kind is not Kind.NOT_MODELLED, entry
        handler = _HANDLERS.get(entry.kind)
        if handler is not None:
            handler(self, entry)

    # --- What the entries do ---

    def _opened(self, entry: Entry) -> None:
        folder, name = self._place(entry.first)
        file = folder.now.get(name)
        if file is None:
            file = File()
            self._name([(folder, name, file)])
        assert isinstance(file, File), entry
        self._files[entry.inode] = file
        if entry.number and file.now:
            file.change(Change(self.count, 0, None))

    def _written(self, entry: Entry) -> None:
        if entry.inode in self._files:  # Else it has no name any more: a temporary file.
            self._files[entry.inode].change(Change(self.count, entry.number, entry.data))

    def _truncated(self, entry: Entry) -> None:
        self._files[entry.inode].change(Change(self.count, entry.number, None))

    def _sync_begins(self, entry: Entry) -> None:
        self._syncs[entry.thread] = self.count

    def _sync_done(self, entry: Entry) -> None:
        upto = self._syncs.pop(entry.thread)
        if entry.number:
            for file in self._files.values():
                file.sync(upto)
            self._make_durable(upto, None)
        elif entry.first is None:
            self._files[entry.inode].sync(upto)
        else:
            folder = self._find(entry.first)
            assert isinstance(folder, Folder), entry
            self._make_durable(upto, folder)

    def _renamed(self, entry: Entry) -> None:
        source, old = self._place(entry.first)
        target, new = self._place(entry.second)
        if source.now[old] is not target.now.get(new):  # POSIX: two names of one file stay both.
            self._name([(source, old, None), (target, new, source.now[old])])

    def _linked(self, entry: Entry) -> None:
        source, old = self._place(entry.first)
        target, new = self._place(entry.second)
        self._name([(target, new, source.now[old])])

    def _symlinked(self, entry: Entry) -> None:
        folder, name = self._place(entry.first)
        self._name([(folder, name, Link(entry.data.decode(), entry.second or ""))])

    def _unlinked(self, entry: Entry) -> None:
        folder, name = self._place(entry.first)
        self._name([(folder, name, None)])

    def _dir_made(self, entry: Entry) -> None:
        if entry.first:  # The root was made before.
            self._find(entry.first)

    def _name(self, parts: list[tuple[Folder, str, Node | None]]) -> None:
        for folder, name, node in parts:
            if node is None:
                del folder.now[name]
            else:
                folder.now[name] = node
        self._pending.append(Naming(self.count, parts))

    def _make_durable(self, upto: int, only: Folder | None) -> None:
        rest = []
        for naming in self._pending:
            if naming.at <= upto and (only is None or any(folder is only for folder, _, _ in naming.parts)):
                for folder, name, node in naming.parts:
                    _settle(folder.durable, folder.settled, naming.at, name, node)
            else:
                rest.append(naming)
        self._pending = rest

    def _place(self, path: str | None) -> tuple[Folder, str]:
        assert path
        parent, _, name = path.rpartition("/")
        folder = self._find(parent)
        assert isinstance(folder, Folder), path
        return folder, name

    def _find(self, path: str) -> Node:
        """A folder that is not known yet was made by another thread, which has not come to note it."""
        node: Node = self.root
        for name in path.split("/") if path else ():
            assert isinstance(node, Folder), path
            if name not in node.now:
                self._name([(node, name, Folder())])
            node = node.now[name]
            if isinstance(node, Link):
                node = self._find(node.target)
        return node

    # --- What may be left ---

    def after_loss(self, chance: random.Random, *, names_kept: float, data_kept: float) -> Image:
        """`names_kept` and `data_kept`: the chance of each change that was not synced to be there all the same."""
        kept = [naming for naming in self._pending if chance.random() < names_kept]
        entries: dict[int, dict[str, Node]] = {}
        settled: dict[int, dict[str, int]] = {}
        for naming in kept:
            for folder, name, node in naming.parts:
                own = entries.setdefault(id(folder), dict(folder.durable))
                _settle(own, settled.setdefault(id(folder), dict(folder.settled)), naming.at, name, node)
        return Image(self.root, entries, chance, data_kept)

    def live_files(self) -> dict[str, bytes]:
        """Path and content of everything as programs saw it: the disk had the power stayed."""
        return {path: bytes(file.now) for path, file in _walk(self.root, lambda folder: folder.now)}


class OrderedDisk(Disk):
    """Names as on ext4: in order, and every sync of anything takes all earlier ones along."""

    def _sync_done(self, entry: Entry) -> None:
        upto = self._syncs[entry.thread]
        super()._sync_done(entry)
        self._make_durable(upto, None)

    def after_loss(self, chance: random.Random, *, names_kept: float, data_kept: float) -> Image:
        count = round(len(self._pending) * (1.0 if names_kept == 1.0 else names_kept * chance.random()))
        entries: dict[int, dict[str, Node]] = {}
        for naming in self._pending[:count]:
            for folder, name, node in naming.parts:
                _settle(entries.setdefault(id(folder), dict(folder.durable)), {}, naming.at, name, node)
        return Image(self.root, entries, chance, data_kept)


class Image:
    """One outcome of a loss of power. `build` writes it into an empty folder; names of one file stay one inode."""

    def __init__(
        self, root: Folder, entries: dict[int, dict[str, Node]], chance: random.Random, data_kept: float
    ) -> None:
        self._root = root
        self._entries = entries
        self._chance = chance
        self._data_kept = data_kept

    def build(self, place: Path) -> None:
        place.mkdir(parents=True)
        self._fill(place, self._root, {})

    def _fill(self, place: Path, folder: Folder, built: dict[int, Path]) -> None:
        for name, node in self._entries.get(id(folder), folder.durable).items():
            path = place / name
            if isinstance(node, Folder):
                path.mkdir()
                self._fill(path, node, built)
            elif isinstance(node, Link):
                path.symlink_to(node.text)
            elif id(node) in built:
                os.link(built[id(node)], path)
            else:
                path.write_bytes(node.after_loss(self._chance, self._data_kept))
                built[id(node)] = path


def _walk(folder: Folder, entries: Callable[[Folder], dict[str, Node]], prefix: str = "") -> Iterator[tuple[str, File]]:
    for name, node in entries(folder).items():
        if isinstance(node, Folder):
            yield from _walk(node, entries, f"{prefix}{name}/")
        elif isinstance(node, File):
            yield f"{prefix}{name}", node


_HANDLERS: dict[Kind, Callable[[Disk, Entry], None]] = {
    Kind.OPENED: Disk._opened,
    Kind.WRITTEN: Disk._written,
    Kind.TRUNCATED: Disk._truncated,
    Kind.SYNC_BEGINS: Disk._sync_begins,
    Kind.SYNC_DONE: lambda disk, entry: disk._sync_done(entry),
    Kind.RENAMED: Disk._renamed,
    Kind.LINKED: Disk._linked,
    Kind.SYMLINKED: Disk._symlinked,
    Kind.UNLINKED: Disk._unlinked,
    Kind.DIR_MADE: Disk._dir_made,
    Kind.DIR_REMOVED: Disk._unlinked,
}
