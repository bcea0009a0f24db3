"""One commit as a stream for `git fast-import`, and its run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from mcp_agent_mail.archive.contents import NO_CONTENTS, Contents
from mcp_agent_mail.archive.git_folder import said_in
from mcp_agent_mail.archive.repository import BIG_FILES, BRANCH, ArchiveRepository
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.git.process import Conversation, GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.attachments import Content
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.attachments import StoredContent

_MODE = "100644"
_PASSING = "refs/agent-mail/import"
_PACKED = b"progress packed"
_HEXSHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PLAIN = re.compile(rb"[A-Za-z0-9._-]+")
_NOT_IN_IDENT = str.maketrans("", "", "<>\n\r\0")

# Without core.fsync=all Git syncs the pack but not the branch that points to it. A limit of 1 would write a commit that
# brings nothing else (its files are in a pack of an import that was cut off) as a loose object, in a folder of its own
# that nobody syncs.
_CONFIG = ("core.fsync=all", "fastimport.unpackLimit=0", BIG_FILES)
_BYTES_A_SECOND = 2 << 20
"""At the very least: a commit that brings large contents may take longer by so much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    name: str
    email: str

    def at(self, when: Micros) -> bytes:
        name = self.name.translate(_NOT_IN_IDENT).strip() or "unknown"
        email = self.email.translate(_NOT_IN_IDENT).strip()
        return f"{name} <{email}> {when // SECOND} +0000".encode()


Put = Callable[[str, Content | None], None]
"""Called with a path and what is to lie there; None removes it."""

PutBlob = Callable[[bytes], None]
PutFolder = Callable[[Iterable[tuple[bytes, str, bytes]]], None]
"""Called with all entries of one folder: mode, Git's name of what lies there, and how it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCommit:
    """`files` may be left empty for a commit whose files are put one by one; `joined` is another parent.

    `folders`: trees that Git has already, by the path at which they are to lie; None removes the folder there.
    """

    message: str
    author: Signature
    committer: Signature
    at: Micros
    files: Mapping[str, Content | None] = field(default_factory=dict)
    joined: str | None = None
    folders: Mapping[str, str | None] = field(default_factory=dict)


Lacking = Callable[[Mapping[str, StoredContent]], None]
"""Called with what a commit goes without, by path, before the branch moves."""


def _refuse(lacked: Mapping[str, StoredContent]) -> None:
    if lacked:
        raise GitFailed(f"{', '.join(lacked)} cannot be read")


def import_commit(
    repository: ArchiveRepository,
    commit: NewCommit,
    *,
    onto: str | None,
    contents: Contents = NO_CONTENTS,
    lacking: Lacking = _refuse,
) -> str:
    """Add one commit on top of `onto`, where the branch stands; its id.

    First the pack is on disk, its name included, then the branch moves: it can never point to a
    pack that a loss of power took away. (The branch's own folder is the caller's to sync.) Git moves it
    only to what contains it: a commit that a person made meanwhile makes this one fail, and is not lost.
    Nor is anything of ours when somebody sets it back meanwhile, since `onto` is what stood there.

    What of `contents` cannot be read is left out, and `lacking` told.
    """
    large = sum(file.bytes for file in commit.files.values() if isinstance(file, StoredContent))
    timeout_s = repository.timeout_s + large / _BYTES_A_SECOND
    with repository.talk("fast-import", "--quiet", "--done", config=_CONFIG, timeout_s=timeout_s) as git:
        blobs = _Blobs(git, contents)
        entries = [_folder_entry(path, tree) for path, tree in commit.folders.items()]
        for path, content in commit.files.items():
            entries += blobs.entry(path, content)
        lacking(blobs.lacked)
        blobs.say_rest()
        git.say(b"".join(_commit(commit, entries, blobs.next_mark, onto=onto)))
        hexsha = _move_branch(repository, git)
    return _require_on_branch(repository, hexsha)


def import_large(
    repository: ArchiveRepository,
    commit: NewCommit,
    fill: Callable[[Put], None],
    *,
    onto: str | None,
    timeout_s: float,
    contents: Contents = NO_CONTENTS,
    lacking: Lacking = _refuse,
) -> str:
    """As `import_commit`, with any number of files, which `fill` puts one by one: their contents are never all in
    memory.
    """
    entries: list[bytes] = []
    with repository.talk("fast-import", "--quiet", "--done", config=_CONFIG, timeout_s=timeout_s) as git:
        blobs = _Blobs(git, contents)

        def put(path: str, content: Content | None) -> None:
            entries.extend(blobs.entry(path, content))
            blobs.say_rest()

        fill(put)
        lacking(blobs.lacked)
        git.say(b"".join(_commit(commit, entries, blobs.next_mark, onto=onto)))
        hexsha = _move_branch(repository, git)
    return _require_on_branch(repository, hexsha)


class _Blobs:
    """What Git has been told to keep, each content once. Small ones are said together."""

    def __init__(self, git: Conversation, contents: Contents) -> None:
        self._git = git
        self._contents = contents
        self._marks: dict[str, int] = {}
        self._unsaid: list[bytes] = []
        self._last: tuple[bytes | None, str] = (None, "")
        self.lacked: dict[str, StoredContent] = {}
        self.next_mark = 1

    def entry(self, path: str, content: Content | None) -> list[bytes]:
        """How a commit says what lies at `path`; nothing where that cannot be read."""
        if content is None:
            return [b"D %s\n" % path.encode()]
        mark = self._mark_of(path, content)
        return [] if mark is None else [b"M %s :%d %s\n" % (_MODE.encode(), mark, path.encode())]

    def say_rest(self) -> None:
        self._git.say(b"".join(self._unsaid))
        self._unsaid.clear()

    def _mark_of(self, path: str, content: Content) -> int | None:
        name = content.sha256 if isinstance(content, StoredContent) else self._name_of(content)
        if name in self._marks:
            return self._marks[name]
        mark, self.next_mark = self.next_mark, self.next_mark + 1
        if isinstance(content, bytes):
            self._unsaid += (b"blob\nmark :%d\n" % mark, _data(content))
        elif not self._has_told(mark, content):
            self.lacked[path] = content
            return None
        self._marks[name] = mark
        return mark

    def _name_of(self, content: bytes) -> str:
        """Copies of one mail are one object, one after the other."""
        if content is not self._last[0]:
            self._last = (content, blob_id(content))
        return self._last[1]

    def _has_told(self, mark: int, content: StoredContent) -> bool:
        """What was not the content after all is a blob that nothing names."""
        begun = False

        def say(chunk: bytes) -> None:
            nonlocal begun
            if not begun:
                self._git.say(b"blob\nmark :%d\ndata %d\n" % (mark, content.bytes))
                begun = True
            self._git.say(chunk)

        is_whole = self._contents.tell(content, say)
        if is_whole and not begun:
            say(b"")
        if begun:
            self._git.say(b"\n")
        return is_whole


def _move_branch(repository: ArchiveRepository, git: Conversation) -> str | None:
    """Once the commit is packed and on disk; None when it is not."""
    hexsha = git.hear().decode("ascii", "replace")
    if not _HEXSHA.fullmatch(hexsha) or git.hear() != _PACKED:
        return None
    sync_path(repository.git_path / "objects" / "pack")
    git.say(b"reset %s\nfrom %s\n\ndone\n" % (BRANCH.encode(), hexsha.encode()))
    return hexsha


def _require_on_branch(repository: ArchiveRepository, hexsha: str | None) -> str:
    if hexsha is None or not _is_on_branch(repository, hexsha):
        # Whatever it said: an event counts as archived only when the branch has it.
        raise GitFailed(f"git fast-import ended well, but {BRANCH} of {repository.path} does not have the commit.")
    return hexsha


def _is_on_branch(repository: ArchiveRepository, hexsha: str) -> bool:
    """Read from the branch's own file, which costs nothing; asked of Git when a person has committed meanwhile."""
    if said_in(repository.git_path / BRANCH) == f"{hexsha}\n":
        return True
    try:
        return not repository.git("rev-list", "--max-count=1", hexsha, f"^{BRANCH}")
    except GitFailed:
        return False


def _folder_entry(path: str, tree: str | None) -> bytes:
    return b"D %s\n" % path.encode() if tree is None else b"M 040000 %s %s\n" % (tree.encode(), path.encode())


def import_folders(repository: ArchiveRepository, fill: Callable[[PutBlob, PutFolder], None]) -> None:
    """Let Git have contents and folders that no commit of the branch has yet, in one pack that is on disk when this
    returns. Without a commit that brings them they are of no consequence.
    """
    with repository.talk("fast-import", "--quiet", "--done", config=_CONFIG) as git:

        def put_blob(content: bytes) -> None:
            git.say(b"blob\n" + _data(content))

        def put_folder(entries: Iterable[tuple[bytes, str, bytes]]) -> None:
            lines = (b"M %s %s %s\n" % (mode, name.encode(), _quoted(file)) for mode, name, file in entries)
            ref = _PASSING.encode()
            # Of nobody's history: a commit is how Git is told of a folder here.
            git.say(b"commit %s\ncommitter <> 0 +0000\ndata 0\n%s\nreset %s\n\n" % (ref, b"".join(lines), ref))

        fill(put_blob, put_folder)
        git.say(b"done\n")
    sync_path(repository.git_path / "objects" / "pack")


def _quoted(name: bytes) -> bytes:
    return name if _PLAIN.fullmatch(name) else b'"%s"' % b"".join(b"\\%03o" % byte for byte in name)


def _commit(commit: NewCommit, entries: Iterable[bytes], own_mark: int, *, onto: str | None) -> Iterator[bytes]:
    yield b"commit %s\nmark :%d\n" % (_PASSING.encode(), own_mark)
    yield b"author %s\ncommitter %s\n" % (commit.author.at(commit.at), commit.committer.at(commit.at))
    yield _data(commit.message.encode())
    if onto is not None:
        yield b"from %s\n" % onto.encode()
    if commit.joined is not None:
        yield b"merge %s\n" % commit.joined.encode()
    yield from entries
    # Forgotten before the checkpoint, which writes the pack, the passing branch is never written.
    yield b"\nreset %s\nget-mark :%d\ncheckpoint\nprogress packed\n" % (_PASSING.encode(), own_mark)


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)
