"""Reads all that an archive holds at one commit, and how it came there: for whoever makes a store of archives alone.

Everything comes as a stream: memory does not grow with the archive. Nothing is changed, and no lock is needed.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import Self

from mcp_agent_mail.archive.ownership import require_in_store
from mcp_agent_mail.archive.repository import BIG_FILES, BRANCH, ArchiveRepository, SealedCommit, require_most
from mcp_agent_mail.core.clock import Micros, from_seconds
from mcp_agent_mail.core.git.process import Conversation, GitFailed
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.archive_format.parse.commit_message import parse_commit

_LIMIT_S = 6 * 3_600.0
"""For all that one archive holds, with what its reader does meanwhile."""
_FORMAT = "%x1e%H%x1f%P%x1f%ct%x1f%B"
_HEAD = lazy_pattern(r"\n?\x1e([0-9a-f]{40,64}\x1f.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchFile:
    path: str
    blob: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCommit:
    """`last_seq` is None for a commit that a person made; `agents` acted in it, by name; `told` are the lines that say
    what happened, the subject first; where they do not say who did what, `did` says what each agent did. `changed` are
    the paths that differ from its first parent, `added` the new ones.
    """

    hexsha: str
    parents: tuple[str, ...]
    committed_ts: Micros
    last_seq: OutboxSeq | None
    agents: tuple[str, ...]
    subject: str
    told: tuple[str, ...]
    did: Mapping[str, frozenset[str]]
    changed: tuple[str, ...]
    added: frozenset[str]


class Branch:
    """The archive at `path`. Raises ArchiveRefused where Git is not to be run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._repository = ArchiveRepository(path, only_git=True)
        require_in_store(self._repository)

    def exists(self) -> bool:
        """Is there a repository with a commit?"""
        return self._repository.exists() and self._repository.tip() is not None

    def newest(self, until: Micros | None = None) -> SealedCommit | None:
        """Our newest commit on the branch, or the newest that was made at `until` or before; of an archive that it has
        adopted since, none.
        """
        with closing(self._sealed(is_own=until is not None)) as commits:
            return next((one for one in commits if until is None or one.committed_ts <= until), None)

    def _sealed(self, *, is_own: bool) -> Generator[SealedCommit]:
        yield from self._repository.sealed(BRANCH, is_own=is_own)

    def files(self, commit: str) -> Iterator[BranchFile]:
        """Every file of the commit, sorted by the bytes of its path."""
        listing = ("ls-tree", "-r", "-l", "-z", commit)
        for entry in self._repository.records(*listing, timeout_s=_LIMIT_S):
            facts, _, path = entry.partition("\t")
            _, kind, blob, size = facts.split()
            if kind == "blob":
                yield BranchFile(path=path, blob=blob, size=int(size))

    def file(self, commit: str, path: str, most: int) -> bytes | None:
        """One file of the commit; None where none is. Raises GitContentTooLarge for one of more than `most` bytes,
        unread.
        """
        if not self._repository.git("ls-tree", "-z", commit, "--", path):
            return None
        return self._repository.content(f"{commit}:{path}", most)

    def reader(self) -> BranchReader:
        return BranchReader(self._repository)

    def tell(self, blob: str) -> Iterator[bytes]:
        """A content piece by piece."""
        with self._repository.talk("cat-file", "--batch", config=(BIG_FILES,), timeout_s=_LIMIT_S) as objects:
            objects.say(f"{blob}\n".encode())
            left = _size_in(objects.hear(), blob)
            while left and (chunk := objects.hear_bytes(min(1 << 20, left))):
                left -= len(chunk)
                yield chunk
            if left:
                raise GitFailed(f"Git does not have all of {blob}.")

    def commits(self, commit: str) -> Generator[BranchCommit]:
        """All that led to `commit`, and it, oldest first; what an adopted archive brought is among them."""
        log = (
            "log",
            "--topo-order",
            "--reverse",
            "--no-show-signature",
            "-z",
            "--root",
            "--name-status",
            "--no-renames",
        )
        merges = "--diff-merges=first-parent"
        head: str | None = None
        fields: list[str] = []
        records = self._repository.records(*log, merges, f"--format={_FORMAT}", commit, "--", timeout_s=_LIMIT_S)
        for record in records:
            if found := _HEAD.fullmatch(record):
                if head is not None:
                    yield _commit(head, fields)
                head, fields = found[1], []
            else:
                fields.append(record)
        if head is not None:
            yield _commit(head, fields)


class BranchReader:
    """A `git cat-file` that is asked for one content after the other: `with branch.reader() as read: read(blob, most)`.
    After a failure a new one is asked.
    """

    def __init__(self, repository: ArchiveRepository) -> None:
        self._repository = repository
        self._talk: AbstractContextManager[Conversation] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._talk is not None:
            talk, self._talk = self._talk, None
            # Exactly the three of a context manager.
            talk.__exit__(*error)  # type: ignore[arg-type]

    def __call__(self, blob: str, most: int) -> bytes:
        """Raises GitFailed; GitContentTooLarge, which is one, for a content of more than `most` bytes, of which none is
        read.
        """
        try:
            return self._read(blob, most)
        except GitFailed as failed:
            with suppress(GitFailed):
                self.__exit__(type(failed), failed, None)
            raise

    def _read(self, blob: str, most: int) -> bytes:
        if self._talk is None:
            self._talk = self._repository.talk("cat-file", "--batch", config=(BIG_FILES,), timeout_s=_LIMIT_S)
            self._objects = self._talk.__enter__()
        self._objects.say(f"{blob}\n".encode())
        size = _size_in(self._objects.hear(), blob)
        require_most(blob, size, most)
        content = self._objects.hear_bytes(size)
        if len(content) != size or self._objects.hear_bytes(1) != b"\n":
            raise GitFailed(f"Git does not have all of {blob}.")
        return content


def _size_in(answer: bytes, blob: str) -> int:
    size = answer.rpartition(b" ")[2]
    if not size.isdigit():
        raise GitFailed(f"Git does not have {blob}.")
    return int(size)


def _commit(head: str, fields: list[str]) -> BranchCommit:
    """`fields`: of each change its kind, then its path."""
    hexsha, parents, seconds, message = head.split("\x1f", 3)
    sealed = parse_commit(message)
    changes = [field for field in (one.removeprefix("\n") for one in fields) if field]
    paths = changes[1::2]
    return BranchCommit(
        hexsha=hexsha,
        parents=tuple(parents.split()),
        committed_ts=from_seconds(int(seconds)),
        last_seq=sealed.last_seq,
        agents=sealed.agents,
        subject=sealed.subject,
        told=tuple(message.split("\n")),
        did=sealed.did,
        changed=tuple(paths),
        added=frozenset(path for kind, path in zip(changes[::2], paths, strict=False) if kind == "A"),
    )
