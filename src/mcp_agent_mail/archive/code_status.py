"""Keeps an archive out of the status of the code repository around it.

That repository is anybody's: its index is read through a shadow and one file of it is written, as data. None of its
settings runs anything, and a link in the way of what is written is refused by name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.folders import RealFolder, opened, opened_in, replace_file
from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.core.git.environment import GitPlace
from mcp_agent_mail.core.git.foreign_repository import ForeignRepository, UnfitRepository, find_repository
from mcp_agent_mail.core.git.process import GitFailed, run_git
from mcp_agent_mail.core.git.shadow_repository import shadow_of
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain

_EXCLUDES_BYTES = 1 << 20
_MODE = 0o644


class CodeRepositoryRefused(ArchiveRefused):
    """The repository around a project is not one to read or write in."""


def keep_out_of_status(project: Path, folder: str) -> None:
    """Name `folder` of `project` (a real path) in `info/exclude` of the code repository around it, if there is one.

    Work trees of one repository share that file. Nothing is written where the Git directory does not name the work
    tree that led to it, nor into what is no repository that we can read: an archive that is there goes on without.
    Raises CodeRepositoryRefused for what leads elsewhere.
    """
    try:
        around = _find(project)
    except UnfitRepository:
        return
    if around is None or not around.names_work_tree() or not project.is_relative_to(around.top or ""):
        return  # The last: a link has just taken the place of a folder on the way to it.
    common = Path(around.common_dir)
    try:
        with opened(RealFolder(common)) as git:
            _exclude(git, f"{folder}/".encode(), lambda: _is_still(around, project, git))
    except (NotADirectoryError, UnfitFile) as refused:
        raise _refused(common / "info" / "exclude") from refused


def _exclude(git: int, line: bytes, is_still: Callable[[], bool]) -> None:
    with opened_in(git, "info", make=True) as info:
        before = read_plain("exclude", _EXCLUDES_BYTES, follow=False, dir_fd=info) or b""
        if line not in before.splitlines() and is_still():
            gap = b"\n" if before and not before.endswith(b"\n") else b""
            replace_file(info, "exclude", before + gap + line + b"\n", mode=_mode_of(info))


def _is_still(around: ForeignRepository, project: Path, git: int) -> bool:
    """Is the Git directory that was opened the one that was judged? Its owner may put another there at any time.

    If it is not, nothing is written; the next time that the archive is opened it is judged anew.
    """
    try:
        now = Path(around.common_dir).lstat()
        return os.path.samestat(now, os.fstat(git)) and _find(project) == around
    except (OSError, UnfitRepository):
        return False


def is_tracked(project: Path, folder: str) -> bool:
    """Does the code repository's index have files of `folder` of `project`?

    Raises CodeRepositoryRefused where that cannot be told: a commit of theirs could take the files along.
    """
    try:
        around = _find(project)
        return around is not None and _has_in_index(around, project, folder)
    except UnfitRepository as unfit:
        raise _untold(project / folder, unfit.message) from unfit


def _find(project: Path) -> ForeignRepository | None:
    """The repository in whose work tree the project lies. Raises UnfitRepository."""
    found = find_repository(str(project))
    if found is None or found.top is None or not found.holds(str(project)):
        return None
    if (git := Path(found.top, ".git")).is_symlink():
        raise _refused(git)
    return found


def _has_in_index(around: ForeignRepository, project: Path, folder: str) -> bool:
    assert around.top is not None
    path = os.path.relpath(project.resolve() / folder, around.top)
    with shadow_of(around) as shadow:
        place = GitPlace(git_dir=Path(shadow), work_tree=Path(around.top), is_foreign=True)
        try:
            return _lists(place, path)
        except GitFailed as failed:
            # A partial clone need not have what its sparse index leaves out; at the top nothing of that is needed.
            with suppress(GitFailed):
                if path == folder:
                    return _lists(place, path, "--sparse")
            raise _untold(project / folder, f"{around.git_dir}/index: {failed.message}") from failed


def _lists(place: GitPlace, path: str, *options: str) -> bool:
    at_top = ("--literal-pathspecs", "-C", str(place.work_tree))
    return bool(run_git(*at_top, "ls-files", "-z", *options, "--", path, place=place))


def _mode_of(info: int) -> int:
    try:
        return stat.S_IMODE(os.stat("exclude", dir_fd=info, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return _MODE


def _untold(path: Path, why: str) -> CodeRepositoryRefused:
    return CodeRepositoryRefused(
        f"Whether the code repository around it tracks {path} cannot be told. {why}",
        hint="Repair that repository (git status there says what is wrong), or set ARCHIVE_LOCATION=store.",
        data={"path": str(path)},
    )


def _refused(path: Path) -> CodeRepositoryRefused:
    return CodeRepositoryRefused(
        f"{path}, of the code repository around the archive, is a link or nothing that Git itself makes there.",
        hint=f"Put a plain file or folder to {path}, or set ARCHIVE_LOCATION=store.",
        data={"path": str(path)},
    )
