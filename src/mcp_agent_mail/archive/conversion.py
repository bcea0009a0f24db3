"""Brings an archive from version 1 of the format to this one, beside its commits, in one commit of its own.

What the commit needs is prepared in parts of a few folders each: contents and folders that no commit has yet, in packs
of their own. What has changed meanwhile is prepared again. The commit itself then only names folders, so it is short
however large the archive is; before it the archive is of the old version, after it of the new one, and nothing between.
Then the work tree follows, folder by folder, newest first: a file lies at its old place or at its new one at any time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path

from mcp_agent_mail.archive.fast_import import NewCommit, PutBlob, PutFolder, Signature, import_folders
from mcp_agent_mail.archive.git_folder import STATE
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository, sync
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.core.git.process import Conversation, GitFailed
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.archive_format.commit_message import CommitText
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE
from mcp_agent_mail.domain.archive_format.versions import (
    FORMAT_VERSION,
    converted_archive_file,
    converted_folder,
    converted_mail,
    is_lease_name,
    is_mail_name,
)

CONVERSION_NOTE = STATE / "conversion"
"""There while files may lie at their old places: the commit before the conversion, whose folders those are."""

VERSION_NOTE = STATE / "version"
"""Says the version of an archive that needs no conversion, so that nobody has to open it to know."""

FOLDERS_AT_ONCE = 64
"""As far as a single block has no more: a part, which the archive's next commit may have to wait for, takes some tenths
of a second.
"""
_ROUNDS = 5
_FILE_MODE = b"100644"

Folders = Mapping[str, str]
"""Git's names of folders, by path."""


def is_outdated(path: Path) -> bool:
    """May this archive be of an older version? Looks at its note alone; one that has never been opened may be."""
    if path.is_symlink() or not (path / STATE).is_dir():
        return False
    with suppress(FileNotFoundError):
        is_noted = (path / VERSION_NOTE).read_text(errors="replace").strip() == str(FORMAT_VERSION)
        return not is_noted or (path / CONVERSION_NOTE).exists()
    return True


class Conversion:
    """Of one archive that is open. `version` is the one that it is in; nothing is kept but names of folders."""

    def __init__(self, repository: ArchiveRepository, tree: WorkTree, version: int, fault_hook: FaultHook) -> None:
        self._repository = repository
        self._tree = tree
        self._fault_hook = fault_hook
        self.version = version
        self._note = repository.path / CONVERSION_NOTE
        self._version_note = repository.path / VERSION_NOTE
        self._trees: dict[str, str] = {}
        self._todo: Iterator[dict[str, str]] = iter(())
        self._rounds = 0
        self._shown: Iterator[dict[str, str]] | None = None
        self._has_shown = not self._note.exists()
        self.note_version()

    @property
    def is_needed(self) -> bool:
        """Is there anything to do, in Git or in the work tree?"""
        return self.version < FORMAT_VERSION or not self._has_shown

    @property
    def is_half_done(self) -> bool:
        """Is Git of this version, and the work tree not yet?"""
        return self.is_needed and self.is_in_git

    @property
    def is_in_git(self) -> bool:
        """Is what remains the work tree's alone?"""
        return self.version >= FORMAT_VERSION

    def prepare(self, tip: str) -> bool:
        """Prepare the next part; True when all that `tip` has is prepared, so that it can be committed now."""
        self._fault_hook(FailPoint.CONVERSION)
        part = next(self._todo, None)
        if part is None:
            left = {path: tree for path, tree in self._outdated(tip) if tree not in self._trees}
            self._rounds += 1
            # What a busy archive changes while the last of it is prepared is prepared with the commit.
            if len(left) > FOLDERS_AT_ONCE and self._rounds < _ROUNDS:
                self._todo = _parts(left)
                return False
            for last in _parts(left):
                self._prepare(last)
            return True
        self._prepare(part)
        return False

    def begin(self, tip: str, text: CommitText, owner: Signature, at: Micros) -> NewCommit:
        """The commit that converts `tip`, all of which is prepared. Noted before the branch moves: from here on files
        may lie at the places that they have in `tip`.
        """
        folders: dict[str, str | None] = {}
        for path, tree in self._outdated(tip):
            folders[path] = None
            folders[_new(path)] = self._trees[tree]
        named = converted_archive_file(self._repository.git("cat-file", "blob", f"{tip}:{ARCHIVE_FILE}"))
        files = {ARCHIVE_FILE: named}
        fresh = self._note.with_suffix(".new")
        fresh.write_text(json.dumps({"before": tip}))
        sync(fresh)
        fresh.replace(self._note)
        sync(self._note.parent)
        self._has_shown = False
        return NewCommit(files=files, folders=folders, message=text.message, author=owner, committer=owner, at=at)

    def note_committed(self) -> None:
        """The branch is of this version now."""
        self.version = FORMAT_VERSION
        self._trees.clear()

    def show(self) -> bool:
        """Let the next folders of the work tree be as the branch has them; False while there are more."""
        if self._shown is None:
            self._shown = self._to_show()
        part = next(self._shown, None)
        if part is not None:
            self._show(part)
            self._fault_hook(FailPoint.CONVERSION_SHOWN)
            return False
        self._has_shown = True
        return True

    def note_version(self) -> None:
        """All is of this version and on disk, the files of the work tree too."""
        if self.is_needed or not is_outdated(self._repository.path):
            return
        self._version_note.write_text(f"{FORMAT_VERSION}\n")
        self._note.unlink(missing_ok=True)

    def _outdated(self, revision: str) -> Iterator[tuple[str, str]]:
        for entry in self._repository.records("ls-tree", "-r", "-d", "-z", revision):
            facts, _, path = entry.partition("\t")
            if converted_folder(path) is not None:
                yield path, facts.rpartition(" ")[2]

    def _prepare(self, folders: Folders) -> None:
        with self._repository.talk("cat-file", "--batch") as objects:

            def fill(put_blob: PutBlob, put_folder: PutFolder) -> None:
                self._trees |= _converted(objects, folders, put_blob, put_folder)

            import_folders(self._repository, fill)

    def _to_show(self) -> Iterator[dict[str, str]]:
        if not self._repository.is_checked_out():
            return  # Git brings the files when somebody switches back.
        self._tree.put(self._repository.git("cat-file", "blob", f"{BRANCH}:{ARCHIVE_FILE}"), [ARCHIVE_FILE])
        before = json.loads(self._note.read_text())["before"]
        yield from _parts(dict(self._outdated(before)))

    def _show(self, folders: Folders) -> None:
        wanted: dict[str, list[str]] = {}
        kept: dict[str, set[bytes]] = {}
        with self._repository.talk("cat-file", "--batch") as objects:
            for old in folders:
                entries = _entries(_read(objects, f"{BRANCH}:{_new(old)}") or b"")
                kept[old] = {name for _, _, name in entries}
                for mode, blob, name in entries:
                    path = f"{_new(old)}/{name.decode('utf-8', 'surrogateescape')}"
                    if mode == _FILE_MODE and self._tree.shows(path) and not self._repository.shows(path, blob):
                        wanted.setdefault(blob, []).append(path)
            for blob, paths in wanted.items():
                self._tree.put(_require(_read(objects, blob), blob), paths)
        for old, names in kept.items():
            self._tree.clear(old, partial(_is_ours, names))


def _is_ours(names: Collection[bytes], name: bytes) -> bool:
    """A file that the folder has at its new place, or had: of mail and of leases the names say so."""
    return name in names or is_mail_name(name) or is_lease_name(name)


def _new(path: str) -> str:
    new = converted_folder(path)
    assert new is not None, path
    return new


def _parts(folders: Folders) -> Iterator[dict[str, str]]:
    """One block after the other, newest first, small ones together: copies of a mail are always in the same part."""

    def block(path: str) -> tuple[str, str, int]:
        year, month, number = path.split("/")[-3:]
        return year, month, int(number)

    part: dict[str, str] = {}
    for _, copies in groupby(sorted(folders, key=lambda path: (block(path), path), reverse=True), key=block):
        following = {path: folders[path] for path in copies}
        if part and len(part) + len(following) > FOLDERS_AT_ONCE:
            yield part
            part = {}
        part |= following
    if part:
        yield part


def _converted(objects: Conversation, folders: Folders, put_blob: PutBlob, put_folder: PutFolder) -> dict[str, str]:
    """What becomes of each folder's tree."""
    mails: dict[str, str] = {}
    trees: dict[str, str] = {}

    def converted(blob: str) -> str:
        if blob not in mails:
            content = converted_mail(_require(_read(objects, blob), blob))
            put_blob(content)
            mails[blob] = blob_id(content)
        return mails[blob]

    for tree in dict.fromkeys(folders.values()):
        entries = _entries(_require(_read(objects, tree), tree))
        new = [
            (mode, converted(blob) if mode == _FILE_MODE and is_mail_name(name) else blob, name)
            for mode, blob, name in entries
        ]
        if new != entries:
            put_folder(new)
        trees[tree] = _tree_id(new)
    return trees


def _read(objects: Conversation, name: str) -> bytes | None:
    """An object, by a name that Git knows; None where it knows none."""
    objects.say(name.encode("utf-8", "surrogateescape") + b"\n")
    header = objects.hear()
    size = header.rpartition(b" ")[2]
    if not size.isdigit():
        return None
    return objects.hear_bytes(int(size) + 1)[:-1]


def _require(content: bytes | None, name: str) -> bytes:
    if content is None:
        raise GitFailed(f"Git does not have {name}, which the archive needs.")
    return content


def _entries(tree: bytes) -> list[tuple[bytes, str, bytes]]:
    """Mode, Git's name and the name there of everything in a folder, as Git stores it."""
    found = []
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, name = tree[at:end].partition(b" ")
        found.append((mode, tree[end + 1 : end + 21].hex(), name))
        at = end + 21
    return found


def _tree_id(entries: Iterable[tuple[bytes, str, bytes]]) -> str:
    content = b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(blob)) for mode, blob, name in entries)
    return hashlib.sha1(b"tree %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
