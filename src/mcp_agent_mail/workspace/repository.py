"""Git facts of a code repository. Small ones are read as data; for lists of files and history Git is asked through a
shadow directory, so that the repository decides nothing of what runs. Nothing here writes or waits long.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_agent_mail.core.git.environment import GitPlace
from mcp_agent_mail.core.git.foreign_repository import ForeignRepository, UnfitRepository, find_repository
from mcp_agent_mail.core.git.process import GitFailed, run_git, stream_git
from mcp_agent_mail.core.git.shadow_repository import shadow_of
from mcp_agent_mail.core.lazy.dataclass import dataclass

_CHUNK = 65_536
_NONE_IGNORED = 1
"""How `git check-ignore` ends when it has nothing to say."""


def find_work_tree(folder: Path) -> ForeignRepository | None:
    """The repository in whose work tree `folder` lies. Raises UnfitRepository when that cannot be told."""
    found = find_repository(str(folder))
    return found if found is not None and found.holds(str(folder)) else None


def holds_code(folder: Path) -> bool:
    """Does the folder lie in the work tree of a repository, which is neither the whole disk nor somebody's home?

    Any caller can name any directory as a project: of others, nobody is told which files there are.
    """
    try:
        found = find_work_tree(folder)
        if found is None or found.top is None:
            return False
        places = {os.path.realpath(folder), os.path.realpath(found.top)}
        return places.isdisjoint({"/", *(home for place in places for home in _homes(place))})
    except (UnfitRepository, OSError, ValueError, RuntimeError):  # the last of who has no home
        return False


def _homes(place: str) -> Iterator[str]:
    """Of the server's user, and of whoever the directory belongs to."""
    yield os.path.realpath(Path.home())
    with suppress(KeyError):
        yield os.path.realpath(pwd.getpwuid(Path(place).stat().st_uid).pw_dir)


def ignore_case(root: Path) -> bool:
    """`core.ignorecase` of the repository; False where there is none that can be read."""
    try:
        found = find_repository(str(root))
    except UnfitRepository:
        return False
    return found is not None and found.is_set("core.ignorecase")


def branch(root: Path) -> str | None:
    """The branch checked out there, one without commits too; None when detached, or where no repository is."""
    try:
        found = find_repository(str(root))
        return None if found is None else found.branch()
    except UnfitRepository:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeWorkTree:
    """What Git says of the files below `root`, which may be a folder of a larger work tree."""

    root: Path
    place: GitPlace

    def newest_commit(self, pathspecs: Sequence[str], *, since_s: int | None, timeout_s: float) -> int | None:
        """When the newest commit of any local branch touched one of `pathspecs`, in seconds. Raises GitFailed."""
        limits = [] if since_s is None else [f"--since={since_s}"]
        revisions = ("--max-count=1", "--timestamp", *limits, "--ignore-missing", "--branches", "HEAD")
        found = run_git(
            *self._from_root(), "rev-list", *revisions, "--", *pathspecs, timeout_s=timeout_s, place=self.place
        )
        return int(found.split()[0]) if found.strip() else None

    @contextmanager
    def listed_files(self, pathspecs: Sequence[str], *, timeout_s: float) -> Iterator[Iterator[bytes]]:
        """Tracked files and new ones that are not ignored, relative to `root`. Leaving early ends Git.

        Raises GitFailed.
        """
        arguments = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *pathspecs)
        with stream_git(*self._from_root(), *arguments, timeout_s=timeout_s, place=self.place) as stream:
            yield _parts(iter(lambda: os.read(stream.fileno(), _CHUNK), b""))

    def ignored(self, paths: Sequence[str], *, timeout_s: float) -> list[str]:
        """Those of `paths`, relative to `root`, that are ignored and not tracked; a final `/` means a folder. Raises
        GitFailed, also where one of them lies in a submodule or beyond a symbolic link.
        """
        # With `./` before it no path is read as a pathspec with magic.
        asked = b"".join(os.fsencode(f"./{path}") + b"\0" for path in paths)
        try:
            said = run_git(
                *self._from_root(),
                *("check-ignore", "-z", "--stdin"),
                stdin=asked,
                timeout_s=timeout_s,
                place=self.place,
            )
        except GitFailed as failed:
            if failed.data["code"] == _NONE_IGNORED:
                return []
            raise
        return [os.fsdecode(path).removeprefix("./") for path in said.split(b"\0") if path]

    def _from_root(self) -> tuple[str, str]:
        return ("-C", str(self.root))


@contextmanager
def open_work_tree(root: Path) -> Iterator[CodeWorkTree | None]:
    """None where `root` lies in no work tree. Raises UnfitRepository when that cannot be told, and OSError."""
    found = find_work_tree(root)
    if found is None or found.top is None:
        yield None
        return
    with shadow_of(found) as shadow:
        yield CodeWorkTree(root=root, place=GitPlace(git_dir=Path(shadow), work_tree=Path(found.top), is_foreign=True))


def _parts(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole
