"""Keeps `git status` clean: the index follows the branch when the writer has time.

Commits are made without the index, so it lags behind until it is refreshed. Only what has changed
since the last refresh is written into it: what a person has staged stays staged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.repository import Repository
from mcp_agent_mail.core.git import GitFailed


def refresh_index(repository: Repository, tip: str, note: Path) -> None:
    """Bring the index to `tip`. `note` remembers, between runs, the commit it stands at."""
    if not repository.is_checked_out():
        return
    indexed = note.read_text().strip() if note.exists() else ""
    if indexed != tip:
        if not (indexed and _advance(repository, indexed, tip)):
            _rebuild(repository, tip)
        _match_files(repository)
        fresh = note.with_suffix(".new")
        fresh.write_text(tip)
        fresh.replace(note)


def _advance(repository: Repository, indexed: str, tip: str) -> bool:
    """Write the difference of two commits into the index; False when the index cannot be trusted."""
    if not (repository.git_path / "index").exists():
        return False
    try:
        changes = repository.git("diff-tree", "-r", "-z", "--no-renames", indexed, tip)
        repository.git("update-index", "-z", "--index-info", stdin=b"".join(_index_lines(changes)))
    except GitFailed:
        return False
    return True


def _index_lines(changes: bytes) -> Iterator[bytes]:
    fields = iter(changes.split(b"\0")[:-1])
    for entry, path in zip(fields, fields, strict=True):
        _, mode, _, blob, _ = entry.split(b" ")
        yield b"%s %s\t%s\0" % (mode, blob, path)


def _rebuild(repository: Repository, tip: str) -> None:
    try:
        repository.git("read-tree", "-m", tip)
    except GitFailed:
        (repository.git_path / "index").unlink(missing_ok=True)
        repository.git("read-tree", tip)


def _match_files(repository: Repository) -> None:
    """Note size and time of the files, so that `git status` need not read them."""
    # Ends with code 1 when a person has changed a file: that is theirs to see in `git status`.
    with suppress(GitFailed):
        repository.git("update-index", "-q", "--refresh")
