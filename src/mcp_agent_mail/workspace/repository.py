"""Git facts of a code repository, read by Git itself. Nothing here writes, waits long, or lets the repository decide
what runs: its own settings can name programs, so only plumbing that calls none of them is used, and no transport.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.core.git import GitFailed, run_git, stream_git

QUICK_S = 2.0
"""For what Git answers from a small file."""

_NO_REPOSITORY = "not a git repository"
_CHUNK = 65_536
_PLACES = 3

# A partial clone fetches what a walk lacks; no look at a workspace may go to the network, whatever the clone says.
_TRANSPORTS = ("file", "git", "ssh", "http", "https", "ext")
_CONFIG = (
    "safe.directory=*",
    "protocol.allow=never",
    *(f"protocol.{name}.allow=never" for name in _TRANSPORTS),
)


def is_in_work_tree(root: Path) -> bool:
    """Raises GitFailed when Git cannot say."""
    try:
        return _git(root, "rev-parse", "--is-inside-work-tree") == b"true\n"
    except GitFailed as failed:
        if _NO_REPOSITORY in failed.message:
            return False
        raise


def ignore_case(root: Path) -> bool:
    """`core.ignorecase` of the repository; False where there is none."""
    return _answer(root, "config", "--type=bool", "--default=false", "--get", "core.ignorecase") == "true"


def branch(root: Path) -> str | None:
    """The branch checked out there, one without commits too; None when detached, or where no repository is."""
    return _answer(root, "symbolic-ref", "--quiet", "--short", "HEAD") or None


def places(root: Path) -> tuple[str, str, str] | None:
    """The work tree's root, its Git directory and the common one, absolute; None outside of a work tree."""
    answer = _answer(
        root, "rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"
    )
    lines = answer.split("\n")
    return (lines[0], lines[1], lines[2]) if len(lines) == _PLACES else None


def config_values(root: Path, pattern: str) -> dict[str, list[str]]:
    """The repository's own settings whose names match `pattern`, in the order they stand."""
    found: dict[str, list[str]] = {}
    for entry in _answer(root, "config", "--null", "--get-regexp", pattern).split("\0")[:-1]:
        name, _, value = entry.partition("\n")
        found.setdefault(name, []).append(value)
    return found


def _answer(root: Path, *arguments: str) -> str:
    """Empty when Git has no answer: no such folder, no repository, no such thing."""
    try:
        return os.fsdecode(_git(root, *arguments)).removesuffix("\n")
    except GitFailed:
        return ""


def newest_commit(root: Path, pathspecs: Sequence[str], *, since_s: int | None, timeout_s: float) -> int | None:
    """When the newest commit of any local branch touched one of `pathspecs`, in seconds. Raises GitFailed."""
    limits = [] if since_s is None else [f"--since={since_s}"]
    # Plumbing: `git log` would check signatures with a program that the repository's settings name.
    revisions = ("--max-count=1", "--timestamp", *limits, "--ignore-missing", "--branches", "HEAD")
    found = run_git("-C", str(root), "rev-list", *revisions, "--", *pathspecs, config=_CONFIG, timeout_s=timeout_s)
    return int(found.split()[0]) if found.strip() else None


@contextmanager
def listed_files(root: Path, pathspecs: Sequence[str], *, timeout_s: float) -> Iterator[Iterator[bytes]]:
    """Tracked files and new ones that are not ignored, relative to `root`. Leaving early ends Git; raises GitFailed."""
    arguments = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *pathspecs)
    with stream_git("-C", str(root), *arguments, config=_CONFIG, timeout_s=timeout_s) as stream:
        yield _parts(iter(lambda: os.read(stream.fileno(), _CHUNK), b""))


def _parts(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole


def _git(root: Path, *arguments: str) -> bytes:
    return run_git("-C", str(root), *arguments, config=_CONFIG, timeout_s=QUICK_S)
