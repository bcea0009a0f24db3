"""Keeps `git status` clean: the index follows the branch when the writer has time.

Commits are made without the index, so it lags behind until it is refreshed. Only what has changed
since the last refresh is written into it: what a person has staged stays staged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.repository import Repository
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.git import GitFailed


class IndexLocked(Unavailable):
    """Another Git is at work in the archive's work tree, or was killed there."""


# Names without what they share with the one before: a quarter less.
_CONFIG = ("index.version=4",)


def refresh_index(repository: Repository, tip: str, note: Path) -> int:
    """Bring the index to `tip`; how many files that has. `note` remembers both between runs, one by one.

    The work tree must show the branch.
    """
    indexed, files = _read(note)
    if indexed == tip and files is not None:
        return files
    require_unlocked(repository)
    change = _advance(repository, indexed, tip) if indexed else None
    if change is None:
        _rebuild(repository, tip)
    _match_files(repository)
    count = _count_files(repository, tip) if change is None or files is None else files + change
    fresh = note.with_suffix(".new")
    fresh.write_text(f"{tip} {count}")
    fresh.replace(note)
    return count


def _read(note: Path) -> tuple[str, int | None]:
    """The commit the index stands at and its number of files; nothing where it is not known."""
    try:
        indexed, _, files = note.read_text().strip().partition(" ")
    except FileNotFoundError:
        return "", None
    return indexed, int(files) if files.isdecimal() else None


def _count_files(repository: Repository, tip: str) -> int:
    return sum(1 for _ in repository.records("ls-tree", "-r", "-z", "--name-only", tip))


def require_unlocked(repository: Repository) -> None:
    lock = repository.git_path / "index.lock"
    if lock.exists():
        raise IndexLocked(
            f"{lock} exists: another Git is at work in this archive, or was killed there. Commits go on.",
            hint=f"Nothing is needed while it works. If no other Git runs there, remove {lock}.",
            data={"path": str(lock)},
        )


def _advance(repository: Repository, indexed: str, tip: str) -> int | None:
    """Write the difference of two commits into the index; by how many files it has grown.

    None when the index cannot be trusted.
    """
    if not (repository.git_path / "index").exists():
        return None
    try:
        changes = repository.git("diff-tree", "-r", "-z", "--no-renames", indexed, tip)
        lines = b"".join(_index_lines(changes))
        repository.git("update-index", "-z", "--index-info", stdin=lines, config=_CONFIG)
    except GitFailed:
        return None
    kinds = [entry[-1:] for entry in changes.split(b"\0")[:-1:2]]
    return kinds.count(b"A") - kinds.count(b"D")


def _index_lines(changes: bytes) -> Iterator[bytes]:
    fields = iter(changes.split(b"\0")[:-1])
    for entry, path in zip(fields, fields, strict=True):
        _, mode, _, blob, _ = entry.split(b" ")
        yield b"%s %s\t%s\0" % (mode, blob, path)


def _rebuild(repository: Repository, tip: str) -> None:
    try:
        repository.git("read-tree", "-m", tip, config=_CONFIG)
    except GitFailed:
        # What a person has staged goes only when Git cannot read it, never because somebody is at work.
        require_unlocked(repository)
        (repository.git_path / "index").unlink(missing_ok=True)
        repository.git("read-tree", tip, config=_CONFIG)


def _match_files(repository: Repository) -> None:
    """Note size and time of the files, so that `git status` need not read them."""
    # Ends with code 1 when a person has changed a file: that is theirs to see in `git status`.
    with suppress(GitFailed):
        repository.git("update-index", "-q", "--refresh")
