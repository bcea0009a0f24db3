"""A throw-away Git directory with our own configuration, which borrows what a code repository holds as data.

Git is asked about a stranger's objects, refs and index through it: what the repository configures, its hooks and
its attributes are not there. Nothing is copied but HEAD, and no command that writes is run over it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mcp_agent_mail.core.git.config import quoted
from mcp_agent_mail.core.git.foreign_repository import ForeignRepository, UnfitRepository

MAX_SHARED_INDEXES = 64
MAX_FILE_BYTES = 128 * 1024 * 1024
"""Of an index, or of packed references: a million files, or of references."""

_PASSED_ON = ("user.name", "user.email", "author.name", "author.email", "agent-mail.name", "agent-mail.project")
"""What says who commits, and in which project. All else that Git is told is ours."""


@contextmanager
def shadow_of(repository: ForeignRepository, *, index: str | None = None) -> Iterator[str]:
    """The directory, for `--git-dir`; gone afterwards. `index`: another index than the work tree's own.

    Raises UnfitRepository for what is no folder or no ordinary file where one belongs.
    """
    place = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"agent-mail-{os.urandom(16).hex()}")  # noqa: S108
    os.mkdir(place, 0o700)
    try:
        _fill(place, repository, index or f"{repository.git_dir}/index")
        yield place
    finally:
        _remove(place)


def _fill(place: str, repository: ForeignRepository, index: str) -> None:
    head = repository.head()
    _write(f"{place}/HEAD", f"ref: {head}\n" if head.startswith("refs/") else f"{head}\n")
    _write(f"{place}/config", _config(repository))
    os.mkdir(f"{place}/info")
    common = repository.common_dir
    for folder in ("objects", "refs"):
        _borrow(f"{common}/{folder}", f"{place}/{folder}", stat.S_IFDIR)
    for file in ("packed-refs", "shallow", "info/exclude"):
        _borrow(f"{common}/{file}", f"{place}/{file}", stat.S_IFREG)
    _borrow(index, f"{place}/index", stat.S_IFREG)
    for name in _shared_indexes(repository.git_dir):
        _borrow(f"{repository.git_dir}/{name}", f"{place}/{name}", stat.S_IFREG)


def _config(repository: ForeignRepository) -> str:
    lines = ["[core]", f"repositoryformatversion = {int(repository.hash_name != 'sha1')}", "bare = false"]
    lines.append(f"ignorecase = {str(repository.is_set('core.ignorecase')).lower()}")
    if repository.hash_name != "sha1":
        lines += ["[extensions]", f"objectformat = {repository.hash_name}"]
    for name in _PASSED_ON:
        section, _, key = name.partition(".")
        if (value := repository.value(name)) is not None:
            lines.append(f"[{section}] {key} = {quoted(value)}")
    return "\n".join([*lines, ""])


def _borrow(source: str, name: str, kind: int) -> None:
    """A link to what is there, if anything is; Git only reads through it."""
    try:
        found = os.stat(source)
    except OSError:
        return
    if stat.S_IFMT(found.st_mode) != kind:
        what = "folder" if kind == stat.S_IFDIR else "ordinary file"
        raise UnfitRepository(f"{source} is no {what}.")
    if kind == stat.S_IFREG and found.st_size > MAX_FILE_BYTES:
        raise UnfitRepository(
            f"{source} holds more than the {MAX_FILE_BYTES:,} bytes that are read of such a file.",
            hint="If the repository is as large as that, it cannot be worked with here.",
            data={"path": source},
        )
    os.symlink(source, name)


def _shared_indexes(git_dir: str) -> list[str]:
    """What a split index builds on. Git notes on them when they were last used: no links."""
    with suppress(OSError), os.scandir(git_dir) as entries:
        names = [
            entry.name
            for entry in entries
            if entry.name.startswith("sharedindex.") and entry.is_file(follow_symlinks=False)
        ]
        return names[:MAX_SHARED_INDEXES]
    return []


def _write(file: str, text: str) -> None:
    with open(file, "x", encoding="utf-8", errors="surrogateescape") as fresh:
        fresh.write(text)


def _remove(place: str) -> None:
    """All of it is ours, and flat. What cannot be removed is left to the system's clean-up."""
    for folder in (f"{place}/info", place):
        with suppress(OSError):
            for name in os.listdir(folder):
                with suppress(OSError):
                    os.unlink(f"{folder}/{name}")
            os.rmdir(folder)
