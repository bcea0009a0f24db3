"""Brings an archive from version 1 of the format to this one, beside its commits, in one commit of its own.

What the commit needs is prepared in parts of some files each: contents and folders that no commit has yet, in packs
of their own. What has changed meanwhile is prepared again. The commit itself then only names folders, so it is short
however large the archive is; before it the archive is of the old version, after it of the new one, and nothing between.
Then the work tree follows, a moment at a time, newest first: a file lies at its old place or at its new one at any
time.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path

from mcp_agent_mail.archive.fast_import import NewCommit, PutBlob, PutFolder, Signature, import_folders
from mcp_agent_mail.archive.git_folder import NotOurGitFolder, read_note
from mcp_agent_mail.archive.known_version import CONVERSION_NOTE, note_version, noted_tip
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository, GitContentTooLarge, require_most
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.git.process import Conversation, GitFailed
from mcp_agent_mail.core.plain_files import UnfitFile
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.archive_format.commit_message import CommitText
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE
from mcp_agent_mail.domain.archive_format.parse.fields import MAX_JSON_BYTES
from mcp_agent_mail.domain.archive_format.versions import (
    FORMAT_VERSION,
    converted_archive_file,
    converted_folder,
    converted_mail,
    former_folder,
    is_lease_name,
    is_mail_name,
)

FOLDERS_AT_ONCE = 16
"""As far as a single block has no more."""
FILES_AT_ONCE = 1_000
"""Contents that are prepared in one part, a pack; the archive's next commit may have to wait for some tenths of a
second.
"""
PART_S = 0.1
"""A part that moves files ends with the content, or the folder, that it is at then: how long a file takes is the disk's
affair and that of others on it.
"""
_ROUNDS = 5
_MOST_BYTES = 16 << 20
_CHANGED = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_FILE_MODE = b"100644"
_FOLDER_MODE = b"40000"

Folders = Mapping[str, tuple[str, ...]]
"""Git's name of each folder, by path; a second where what it is to be called from now on is there already."""


class Conversion:
    """Of one archive that is open, at `tip`. `version` is the one that it is in, but for folders that a program of the
    version before may have written since. Nothing is kept but names of folders.
    """

    def __init__(
        self, repository: ArchiveRepository, tree: WorkTree, version: int, tip: str | None, fault_hook: FaultHook
    ) -> None:
        self._repository = repository
        self._tree = tree
        self._fault_hook = fault_hook
        self.version = version
        self._note = repository.path / CONVERSION_NOTE
        self._trees: dict[tuple[str, ...], str] = {}
        self._todo: Iterator[None] = iter(())
        self._rounds = 0
        self._shown: Iterator[None] | None = None
        self._has_shown = not self._note.exists()
        self._has_former = version < FORMAT_VERSION or (tip is not None and self._look_for_former(tip))
        if tip is None:
            self.note_version(tip)

    @property
    def is_needed(self) -> bool:
        """Is there anything to do, in Git or in the work tree?"""
        return self._has_former or not self._has_shown

    @property
    def is_half_done(self) -> bool:
        """Is Git of this version, as far as it has come, and the work tree not yet?"""
        return not self._has_shown

    def prepare(self, tip: str) -> bool:
        """Prepare the next part; True when all that `tip` has is prepared, so that it can be committed now."""
        self._fault_hook(FailPoint.CONVERSION)
        for _ in self._todo:
            return False
        left = {path: trees for path, trees in self._outdated(tip).items() if trees not in self._trees}
        self._rounds += 1
        self._todo = self._prepare_all(left)
        # What a busy archive changes while the last of it is prepared is prepared with the commit.
        if left and self._rounds < _ROUNDS:
            return False
        for _ in self._todo:
            pass
        return True

    def begin(self, tip: str, text: CommitText, owner: Signature, at: Micros) -> NewCommit:
        """The commit that converts `tip`, all of which is prepared. Noted before the branch moves: from here on files
        may lie at the places that they have in `tip`.
        """
        folders: dict[str, str | None] = {}
        for path, trees in self._outdated(tip).items():
            folders[path] = None
            folders[_new(path)] = self._trees[trees]
        named = converted_archive_file(self._repository.content(f"{tip}:{ARCHIVE_FILE}", MAX_JSON_BYTES))
        files = {ARCHIVE_FILE: named}
        fresh = self._note.with_suffix(".new")
        fresh.write_text(json.dumps({"before": tip}))
        sync_path(fresh)
        fresh.replace(self._note)
        sync_path(self._note.parent)
        self._has_shown, self._shown = False, None
        return NewCommit(files=files, folders=folders, message=text.message, author=owner, committer=owner, at=at)

    def note_committed(self) -> None:
        """The branch is of this version now."""
        self.version = FORMAT_VERSION
        self._has_former = False
        self._trees.clear()
        self._tree.blocked = {_new_path(path) for path in self._tree.blocked}

    def show(self) -> bool:
        """Let the next files of the work tree be as the branch has them; False while there are more.

        After a failure all of them are looked at again.
        """
        if self._shown is None:
            self._shown = self._show_all()
        try:
            for _ in self._shown:
                self._fault_hook(FailPoint.CONVERSION_SHOWN)
                return False
        except Exception:
            self._shown = None
            raise
        self._has_shown = True
        return True

    def note_version(self, tip: str | None) -> None:
        """All of `tip` is of this version and on disk, the files of the work tree too, unless there is more to do."""
        if not self.is_needed:
            note_version(self._repository.path, tip)

    def _look_for_former(self, tip: str) -> bool:
        """Is there a folder of the version before, by a program of that version that went on with this archive?

        Looks at what has changed since that was known.
        """
        seen = noted_tip(self._repository.path)
        if seen == tip:
            return False
        with suppress(GitFailed):  # What was seen may be gone.
            if seen is not None:
                changed = self._repository.records(*_CHANGED, seen, tip)
                return any(converted_folder(path.rpartition("/")[0]) is not None for path in changed)
        return bool(self._outdated(tip))

    def _outdated(self, revision: str) -> dict[str, tuple[str, ...]]:
        """Folders that are called otherwise in this version. Both names are there where a program of the version before
        went on with an archive that was of this version once.
        """
        outdated: dict[str, str] = {}
        present: dict[str, str] = {}
        for entry in self._repository.records("ls-tree", "-r", "-d", "-z", revision):
            facts, _, path = entry.partition("\t")
            tree = facts.rpartition(" ")[2]
            if converted_folder(path) is not None:
                outdated[path] = tree
            elif former_folder(path) is not None:
                present[path] = tree
        return {
            path: (tree, present[_new(path)]) if _new(path) in present else (tree,) for path, tree in outdated.items()
        }

    def _prepare_all(self, folders: Folders) -> Iterator[None]:
        for part in _parts(folders):
            yield from self._prepare(part)

    def _prepare(self, folders: Folders) -> Iterator[None]:
        with self._repository.talk("cat-file", "--batch") as objects:
            blobs = _mails_of(objects, folders)
        mails: dict[str, str] = {}
        for start in range(0, max(1, len(blobs)), FILES_AT_ONCE):
            some = blobs[start : start + FILES_AT_ONCE]
            # Git takes the folders once it has all that lies in them.
            ready = folders if start + FILES_AT_ONCE >= len(blobs) else {}
            with self._repository.talk("cat-file", "--batch") as objects:
                import_folders(self._repository, partial(self._fill, objects, some, mails, ready))
            yield

    def _fill(
        self,
        objects: Conversation,
        blobs: list[str],
        mails: dict[str, str],
        folders: Folders,
        put_blob: PutBlob,
        put_folder: PutFolder,
    ) -> None:
        for blob in blobs:
            content = converted_mail(_require(_read(objects, blob), blob))
            put_blob(content)
            mails[blob] = blob_id(content)
        self._trees |= _converted(objects, folders, mails, put_folder)

    def _show_all(self) -> Iterator[None]:
        if not self._repository.is_checked_out():
            return  # Git brings the files when somebody switches back.
        self._tree.put(self._repository.content(f"{BRANCH}:{ARCHIVE_FILE}", MAX_JSON_BYTES), [ARCHIVE_FILE])
        before = _noted(self._note)
        for part in _parts(self._outdated(before)):
            yield from self._show(part)

    def _show(self, folders: Folders) -> Iterator[None]:
        done: set[str] = set()
        kept: dict[str, set[bytes]] = {}
        while not self._show_some(folders, done, kept):
            yield
        until = time.monotonic() + PART_S
        for old, names in kept.items():
            self._tree.clear(old, partial(_is_ours, names))
            if time.monotonic() >= until:
                yield
                until = time.monotonic() + PART_S
        yield

    def _show_some(self, folders: Folders, done: set[str], kept: dict[str, set[bytes]]) -> bool:
        """Put contents that are not `done` where they belong, until time is up; True when that was all of them."""
        until = time.monotonic() + PART_S
        blob, paths = "", list[str]()
        try:
            with self._repository.talk("cat-file", "--batch") as objects:
                # Read again at each step: commits come between.
                left = {blob: paths for blob, paths in self._wanted(objects, folders, kept).items() if blob not in done}
                for blob, copies in left.items():
                    paths = [path for path in copies if not self._repository.shows(path, blob)]
                    if paths:
                        self._tree.put(_require(_read(objects, blob), blob), paths)
                    done.add(blob)
                    if time.monotonic() >= until:
                        break
        except GitContentTooLarge:
            if not paths:
                raise
            # A person's: mail is never so large.
            for path in paths:
                self._tree.put_large(path, partial(self._repository.tell_blob, blob))
            done.add(blob)
            return False
        return done.issuperset(left)

    def _wanted(self, objects: Conversation, folders: Folders, kept: dict[str, set[bytes]]) -> dict[str, list[str]]:
        """Where each content is to lie in the work tree. Notes in `kept` which names each folder has now."""
        wanted: dict[str, list[str]] = {}
        for old in folders:
            if _read(objects, f"{BRANCH}:{old}") is not None:
                continue  # It is not converted: the process ended before the commit.
            entries = _entries(_read(objects, f"{BRANCH}:{_new(old)}") or b"")
            kept[old] = {name for _, _, name in entries}
            for mode, blob, name in entries:
                path = f"{_new(old)}/{name.decode('utf-8', 'surrogateescape')}"
                if mode == _FILE_MODE and self._tree.shows(path):
                    wanted.setdefault(blob, []).append(path)
        return wanted


def _noted(note: Path) -> str:
    """The commit before the conversion. Raises NotOurGitFolder where a note of ours would say one."""
    with suppress(ValueError, KeyError, TypeError, RecursionError, UnfitFile):
        if (said := read_note(note)) is None:
            raise FileNotFoundError(str(note))
        if _COMMIT.fullmatch(before := json.loads(said)["before"]):
            return str(before)
    raise NotOurGitFolder(
        f"{note} does not say which commit was converted.",
        hint="Remove it and run `am doctor repair`: it writes the files of the archive again as Git has them.",
        data={"path": str(note)},
    )


def _is_ours(names: Collection[bytes], name: bytes) -> bool:
    """A file that the folder has at its new place, or had: of mail and of leases the names say so."""
    return name in names or is_mail_name(name) or is_lease_name(name)


def _new(path: str) -> str:
    new = converted_folder(path)
    assert new is not None, path
    return new


def _new_path(path: str) -> str:
    """Where a file lies in this version."""
    folder, _, name = path.rpartition("/")
    new = converted_folder(folder)
    return path if new is None else f"{new}/{name}"


def _parts(folders: Folders) -> Iterator[dict[str, tuple[str, ...]]]:
    """One block after the other, newest first, small ones together: copies of a mail are always in the same part."""

    def block(path: str) -> tuple[str, str, int]:
        year, month, number = path.split("/")[-3:]
        return year, month, int(number)

    part: dict[str, tuple[str, ...]] = {}
    for _, copies in groupby(sorted(folders, key=lambda path: (block(path), path), reverse=True), key=block):
        following = {path: folders[path] for path in copies}
        if part and len(part) + len(following) > FOLDERS_AT_ONCE:
            yield part
            part = {}
        part |= following
    if part:
        yield part


def _mails_of(objects: Conversation, folders: Folders) -> list[str]:
    """Contents of mail that is to be converted, each once."""
    entries = (entry for trees in folders.values() for entry in _entries(_require(_read(objects, trees[0]), trees[0])))
    return list(dict.fromkeys(blob for mode, blob, name in entries if mode == _FILE_MODE and is_mail_name(name)))


def _converted(
    objects: Conversation, folders: Folders, mails: Mapping[str, str], put_folder: PutFolder
) -> dict[tuple[str, ...], str]:
    """What becomes of each folder's tree, or of both. What has one name in both is a copy that somebody made, or was
    written by a program of the version before, and last.
    """
    made: dict[tuple[str, ...], str] = {}
    for trees in dict.fromkeys(folders.values()):
        old, *present = (_entries(_require(_read(objects, tree), tree)) for tree in trees)
        copied = {entry for entries in present for entry in entries}
        new = [
            (mode, mails[blob], name)
            if mode == _FILE_MODE and is_mail_name(name) and (mode, blob, name) not in copied
            else (mode, blob, name)
            for mode, blob, name in old
        ]
        for entries in present:
            named = {entry[2]: entry for entry in (*entries, *new)}
            new = sorted(named.values(), key=lambda entry: _git_order(entry[0], entry[2]))
        if new != old:
            put_folder(new)
        made[trees] = _tree_id(new)
    return made


def _git_order(mode: bytes, name: bytes) -> bytes:
    return name + b"/" if mode == _FOLDER_MODE else name


def _read(objects: Conversation, name: str) -> bytes | None:
    """An object, by a name that Git knows; None where it knows none. GitContentTooLarge: for more than mail has."""
    objects.say(name.encode("utf-8", "surrogateescape") + b"\n")
    header = objects.hear()
    size = header.rpartition(b" ")[2]
    if not size.isdigit():
        return None
    require_most(name, int(size), _MOST_BYTES)
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
