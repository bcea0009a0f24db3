"""How an archive's history is read: by runs of Git that change nothing, need no lock, and end within a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.archive.ownership import require_in_store
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.git.process import GitFailed

_FACTS = "--batch-check=%(objectname) %(objecttype) %(objectsize)"


class ArchiveNotFound(NotFound):
    """The project has no archive at this place, or no commit in it yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitObject:
    """`kind` is `blob`, `tree`, `commit` or `tag`."""

    name: str
    kind: str
    size_bytes: int


class BoundedReader:
    """Of the archive at `path`; `timeout_s` is each run's. All of it is called within `told`."""

    def __init__(self, path: Path, *, timeout_s: float) -> None:
        self._path = path
        self._repository = ArchiveRepository(path, only_git=True)
        self._timeout_s = timeout_s

    @contextmanager
    def told(self) -> Iterator[None]:
        """Raises ArchiveRefused for what is no archive of ours, ArchiveNotFound for what Git cannot read within."""
        try:
            require_in_store(self._repository)
            yield
        except (GitFailed, ValueError, OSError) as unreadable:
            raise ArchiveNotFound(
                f"There is no readable history in {self._path}.",
                hint="`am status` says whether the archive has caught up; `am doctor verify` says what is wrong.",
                data={"path": str(self._path)},
            ) from unreadable

    def log(self, *options: str, form: str, most: int) -> Generator[str]:
        """What `form` makes of the first `most` commits, newest first. `options` end in a revision, or in its paths."""
        log = ("log", "-z", "--no-show-signature", "--encoding=UTF-8", f"--max-count={most}", f"--format={form}")
        yield from self.records(*log, *options)

    def records(self, *arguments: str) -> Generator[str]:
        """The fields that a reading command prints with `-z`, as they come. Whoever leaves early closes it."""
        with closing(self._repository.records(*arguments, timeout_s=self._timeout_s)) as records:
            yield from records

    def beginning(self, *arguments: str, most: int) -> tuple[bytes, bool]:
        """The first `most` bytes that a reading command prints, and whether that is all."""
        return self._repository.beginning(*arguments, most=most, timeout_s=self._timeout_s)

    def objects(self, names: Sequence[str]) -> list[GitObject | None]:
        """What each of `names` is, None where Git has nothing. No name may have a line end in it."""
        told = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
        answers = self._repository.git("cat-file", _FACTS, stdin=told, timeout_s=self._timeout_s).split(b"\n")[:-1]
        return [_object_in(answer) for _, answer in zip(names, answers, strict=True)]

    def blob(self, name: str) -> bytes:
        """The whole content: look at its size first."""
        return self._repository.git("cat-file", "blob", name, timeout_s=self._timeout_s)


def _object_in(answer: bytes) -> GitObject | None:
    words = answer.decode("ascii", "replace").split(" ")
    # Of what is missing the name is said again.
    if len(words) != 3 or not words[2].isdecimal():
        return None
    return GitObject(name=words[0], kind=words[1], size_bytes=int(words[2]))
