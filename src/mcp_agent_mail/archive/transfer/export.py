"""An archive's history as an ordinary Git repository of somebody's: all of it, or what may be shown to anybody.

The second is written anew, commit by commit: Git tells what each changed, and is told the same without what is hidden.
What it is told is packed last, from the new commits on, so that nothing comes along that no commit of the copy has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Self

from mcp_agent_mail.archive.ownership import require_in_store
from mcp_agent_mail.archive.repository import BIG_FILES, BRANCH, ArchiveRepository
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.file_sync import sync_path, sync_tree
from mcp_agent_mail.core.git.environment import GitPlace
from mcp_agent_mail.core.git.process import Conversation, GitFailed, run_git, start_git, stream_git, talk_to_git
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.redaction import HistoryVerdict, Redaction

LIMIT_S = 3_600.0

_EXPORT = ("fast-export", "--no-data", "--reencode=no", "--signed-tags=strip", "--show-original-ids")
_CONFIG = ("core.fsync=all", "fastimport.unpackLimit=0", BIG_FILES)
_CHANGE = re.compile(rb"M ([0-7]{6}) ([0-9a-f]{40}) (.+)\n")
_CHUNK = 1 << 20
_MOST_BYTES = 16 << 20
"""More than any mail or receipts have, or what a commit of ours says."""
_PACKING = ("pack-objects", "-q", "--revs", "--delta-base-offset")

Progress = Callable[[int, int], None]


class NothingToExport(NotFound):
    """The project has no commit yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryExport:
    """`commit` is the newest of the copy, which is the archive's own only where all was copied."""

    commit: str
    commits: int


def export_history(path: Path, folder: Path, scratch: Path, *, is_exact: bool, progress: Progress) -> HistoryExport:
    """Make of `folder`, which is empty, a repository with the history of the archive at `path` and its newest files.
    `scratch`, empty too, is the caller's to remove. Raises ArchiveRefused, NothingToExport, GitFailed.
    """
    source = ArchiveRepository(path, only_git=True)
    require_in_store(source)
    tip = source.tip() if source.exists() else None
    if tip is None:
        raise NothingToExport(
            f"{path} has no commit yet: there is nothing to export.", hint="An archive begins with the first mail."
        )
    commits = int(source.git("rev-list", "--count", tip, timeout_s=LIMIT_S))
    lent = GitPlace(git_dir=source.git_path)
    if not is_exact:
        run_git("init", "--quiet", "--bare", "--template=", f"--initial-branch={_name()}", str(scratch))
        redacted = GitPlace(git_dir=scratch, borrowed=(source.git_path / "objects",))
        redaction = _learnt(lent, tip, commits, progress)
        tip = _written(lent, tip, redacted, redaction, commits, progress)
        lent = redacted
    _copy(lent, tip, folder)
    return HistoryExport(commit=tip, commits=commits)


def _name() -> str:
    return BRANCH.rpartition("/")[2]


def _copy(source: GitPlace, tip: str, folder: Path) -> None:
    """A repository of nobody's but its owner's: no remote, no hook, no setting of ours."""
    run_git("init", "--quiet", "--template=", f"--initial-branch={_name()}", str(folder))
    place = GitPlace(git_dir=folder / ".git", work_tree=folder)
    packs = folder / ".git" / "objects" / "pack"
    start_git(*_PACKING, str(packs / "pack"), stdin=f"{tip}\n".encode(), config=_CONFIG, place=source).finish(LIMIT_S)
    run_git("update-ref", BRANCH, tip, config=_CONFIG, place=place)
    run_git("fsck", "--connectivity-only", "--no-dangling", "--no-progress", timeout_s=LIMIT_S, place=place)
    run_git("reset", "--quiet", "--hard", timeout_s=LIMIT_S, place=place)
    # Files of the work tree can be had again from Git; one by one they would take minutes.
    sync_tree(folder / ".git")
    sync_path(folder)


def _learnt(lent: GitPlace, tip: str, commits: int, progress: Progress) -> Redaction:
    """From every mail file that any commit has."""
    redaction, done = Redaction(), 0
    with _Blobs(lent) as blobs, stream_git(*_EXPORT, tip, timeout_s=LIMIT_S, place=lent) as told:
        for line in told:
            if line.startswith(b"data "):
                _message(told, line)
            elif line.startswith(b"commit "):
                done += 1
                progress(done, 2 * commits)
            elif (change := _CHANGE.fullmatch(line)) and redaction.is_learnt(path := _path(change[3])):
                redaction.learn(path, change[2].decode(), blobs.read)
    return redaction


def _written(lent: GitPlace, tip: str, place: GitPlace, redaction: Redaction, commits: int, progress: Progress) -> str:
    """Each commit again, on the copies of those before it; the newest."""
    with (
        _Blobs(lent) as blobs,
        stream_git(*_EXPORT, tip, timeout_s=LIMIT_S, place=lent) as told,
        talk_to_git("fast-import", "--quiet", "--done", config=_CONFIG, timeout_s=LIMIT_S, place=place) as git,
    ):
        rewriting = _Rewriting(told, git, blobs, redaction)
        for done in rewriting.run():
            progress(commits + done, 2 * commits)
    found = run_git("for-each-ref", "--format=%(objectname)", BRANCH, place=place).decode().strip()
    if not found:
        raise GitFailed("git fast-import ended well, and wrote no branch.")
    return found


class _Rewriting:
    """Passes on what `git fast-export` says, with other files and, where they tell of what is hidden, other words."""

    def __init__(self, told: IO[bytes], git: Conversation, blobs: _Blobs, redaction: Redaction) -> None:
        self._told = told
        self._git = git
        self._blobs = blobs
        self._redaction = redaction

    def run(self) -> Iterator[int]:
        """Numbers the commits, as they are begun."""
        done = 0
        head: list[bytes] = []
        for line in self._told:
            # Asked for by its id, Git says the id where it would say which branch.
            if line.startswith(b"reset "):
                self._git.say(b"reset %s\n" % BRANCH.encode())
            elif line.startswith(b"commit "):
                self._git.say(b"commit %s\n" % BRANCH.encode())
                done += 1
                yield done
            elif line.startswith((b"author ", b"committer ", b"encoding ", b"mark ")):
                head.append(line)
            elif line.startswith(b"data "):
                self._git.say(self._said(head, _message(self._told, line)))
                head.clear()
            elif change := _CHANGE.fullmatch(line):
                self._change(line, change)
            elif not line.startswith(b"original-oid "):
                self._git.say(line)
        self._git.say(b"done\n")

    def _said(self, head: list[bytes], message: bytes) -> bytes:
        lines = {line.partition(b" ")[0]: line for line in head}
        author = lines[b"author"].removeprefix(b"author ").partition(b" <")[0].decode("utf-8", "surrogateescape")
        text, keeps_author = self._redaction.shown_message(message.decode("utf-8", "surrogateescape"), author)
        if not keeps_author:
            lines[b"author"] = b"author " + lines[b"committer"].removeprefix(b"committer ")
        order = (b"mark", b"author", b"committer", b"encoding")
        content = text.encode("utf-8", "surrogateescape")
        return b"".join(lines[name] for name in order if name in lines) + _data(content)

    def _change(self, line: bytes, change: re.Match[bytes]) -> None:
        path = _path(change[3])
        verdict = self._redaction.verdict(path)
        if verdict is HistoryVerdict.KEEP:
            self._git.say(line)
            return
        content = b""
        if verdict is HistoryVerdict.REWRITE:
            content = self._redaction.rewritten(path, self._blobs.read(change[2].decode()))
        if content:
            self._git.say(b"M %s inline %s\n%s" % (change[1], change[3], _data(content)))
        else:
            # It may stand where a version that is shown stood before.
            self._git.say(b"D %s\n" % change[3])


class _Blobs:
    """Contents of files, one after the other; the last one is remembered, since copies of a mail are one."""

    def __init__(self, place: GitPlace) -> None:
        self._talk = talk_to_git("cat-file", "--batch", config=(BIG_FILES,), timeout_s=LIMIT_S, place=place)
        self._last = ("", b"")

    def __enter__(self) -> Self:
        self._git = self._talk.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._talk.__exit__(*error)  # type: ignore[arg-type]  # passed on as they come

    def read(self, blob: str) -> bytes:
        if blob != self._last[0]:
            self._git.say(f"{blob}\n".encode())
            size = self._git.hear().rpartition(b" ")[2]
            if not size.isdigit():
                raise GitFailed(f"Git does not have {blob}, which the archive needs.")
            self._last = (blob, self._heard(int(size)))
            self._git.hear_bytes(1)
        return self._last[1]

    def _heard(self, left: int) -> bytes:
        """Nothing of what is larger than any mail: it is none, and is left out as such."""
        if left <= _MOST_BYTES:
            return self._git.hear_bytes(left)
        while left and (piece := self._git.hear_bytes(min(_CHUNK, left))):
            left -= len(piece)
        return b""


def _message(told: IO[bytes], line: bytes) -> bytes:
    """What follows a line that says how long it is. Raises GitFailed where it has no end."""
    size = int(line[5:])
    if size > _MOST_BYTES:
        raise GitFailed(f"a commit's message has {size:,} bytes.")
    return told.read(size)


def _path(named: bytes) -> str:
    """As Git says it. One that it puts in quotes is none of ours, whatever it is."""
    return named.decode("utf-8", "surrogateescape")


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)
