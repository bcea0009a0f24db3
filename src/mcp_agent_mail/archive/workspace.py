"""An archive with its files in the project's own directory, `<project>/.mcp-mail/`; its Git directory is in the store.

A project's directory is anybody's: a clone may bring `.mcp-mail` along. So what lies there is written, and read only
to compare it; the `.git` file there leads people's Git to the store, and nothing of ours reads it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.code_status import is_tracked, keep_out_of_status
from mcp_agent_mail.archive.folders import (
    RealFolder,
    names_in,
    opened,
    remove_unfinished,
    replace_file,
    sync_files,
    unfinished,
)
from mcp_agent_mail.archive.git_folder import (
    REAL_WORK_TREE,
    STATE,
    ArchiveRefused,
    NotOurGitFolder,
    is_real_work_tree_noted,
    note_real_work_tree,
    real_work_tree_of,
    work_tree_of,
)
from mcp_agent_mail.archive.repository import BUILDING, ArchiveRepository
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain, real_path

WORKSPACE_FOLDER = ".mcp-mail"
SET_ASIDE = ".git.set-aside"
_GIT_FILE = ".git"
_OWNER_ONLY = 0o700
_SMALL_BYTES = 64 * 1024
_MOST_SET_ASIDE = 100


class WorkspaceTaken(ArchiveRefused):
    """Something else lies where the project's archive is to be begun."""


class WorkspaceGone(ArchiveRefused):
    """The project directory that holds the archive's files is not there."""


def is_begun(place: Path) -> bool:
    """Whether an archive, or something else, lies at `place` in the store. What an interrupted begin left does not
    count.
    """
    try:
        return place.is_symlink() or any(entry.name != BUILDING for entry in place.iterdir())
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        return True


def begin_in_workspace(place: Path, project: Path) -> None:
    """Set up the archive at `place` in the store with its files in the directory `project`. Safe to repeat."""
    named, project = project, Path(real_path(str(project)))
    work_tree = project / WORKSPACE_FOLDER
    _require_free(work_tree, place)
    if is_tracked(project, WORKSPACE_FOLDER):
        raise WorkspaceTaken(
            f"{work_tree} is tracked by the code repository around it.",
            hint=f"Take it out (git -C {project} rm -r --cached {WORKSPACE_FOLDER}), or set ARCHIVE_LOCATION=store.",
            data={"path": str(work_tree)},
        )
    _furnish(place, work_tree)
    ArchiveRepository(place).create(named / WORKSPACE_FOLDER)


def return_to_workspace(place: Path) -> None:
    """Before an archive is opened: make sure that its files' directory is there, that people's Git finds the archive
    from it, and that the code repository around it ignores it. Raises WorkspaceGone, NotOurGitFolder.
    """
    named = work_tree_of(place)
    if named == place:
        return
    work_tree = real_work_tree_of(place)
    for path in (named, work_tree):
        _require_workspace(place, path)
    require_project(place, work_tree)
    if not is_real_work_tree_noted(place):
        note_real_work_tree(place)
    _furnish(place, work_tree)


def may_return(place: Path, work_tree: Path, project: Path) -> bool:
    """May an archive that is put back to `place` have its files in `work_tree` again, where a copy says that they lay?

    Only in the very directory of its own project, with no link on the way, and where nothing else lies.
    """
    try:
        is_its_own = work_tree == project / WORKSPACE_FOLDER and real_path(str(project)) == str(project)
        return is_its_own and project.is_dir() and _is_free(work_tree, place)
    except (UnfitFile, OSError):
        return False


def _require_workspace(place: Path, work_tree: Path) -> None:
    """Whatever the notes of an archive say that somebody unpacked, no other folder is written to."""
    if work_tree.name != WORKSPACE_FOLDER or not work_tree.is_absolute() or ".." in work_tree.parts:
        raise NotOurGitFolder(
            f"{place} says that its files lie in {work_tree}, and those of an archive lie in a {WORKSPACE_FOLDER}. "
            "Nothing was written there.",
            hint=f"This program notes no such place. If you have this store from somebody else, do not use it; else "
            f"move {place} away, keep it, and run `am archive renew {place.name}` without a server.",
            data={"path": str(work_tree), "archive": str(place)},
        )


def require_project(place: Path, work_tree: Path) -> None:
    """Raise WorkspaceGone where the directory that the files lay in is not there, or a link is in its place."""
    project = work_tree.parent
    data = {"path": str(work_tree), "archive": str(place)}
    if not project.is_dir():
        raise WorkspaceGone(
            f"{project} is not there, and the archive lay in it (ARCHIVE_LOCATION=workspace).",
            hint=f"Put {project} back: it is then gone on with by itself. If it is lost for good, stop the "
            f"server, move {place} away and run `am doctor repair`.",
            data=data,
        )
    if is_real_work_tree_noted(place) and (leads_to := real_path(str(project))) != str(project):
        note = place / STATE / REAL_WORK_TREE
        raise WorkspaceGone(
            f"{project} leads to {leads_to} over a link now, and the archive lay in that directory itself "
            "(ARCHIVE_LOCATION=workspace). Nothing is written behind the link.",
            hint=f"Put the directory back to {project}: it is then gone on with by itself. If you have moved it to "
            f"{leads_to} yourself, remove {note}: the archive's files are then written there.",
            data=data | {"leads_to": leads_to},
        )


def lead_people(place: Path, work_tree: Path) -> None:
    """Write the `.git` file into the real `work_tree`. What else has its name is put aside, never read. Raises
    NotOurGitFolder.
    """
    _require_workspace(place, work_tree)
    with opened(RealFolder(work_tree)) as fd:
        remove_unfinished(fd, _GIT_FILE)
        wanted = _git_file(place)
        if _is_git_file(fd, wanted):
            return
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(_GIT_FILE, dir_fd=fd, follow_symlinks=False).st_mode):
                _set_aside(fd)
        replace_file(fd, _GIT_FILE, wanted)


def _furnish(place: Path, work_tree: Path) -> None:
    project = work_tree.parent
    with opened(RealFolder(project)) as fd:
        with suppress(FileExistsError):
            os.mkdir(WORKSPACE_FOLDER, _OWNER_ONLY, dir_fd=fd)
        found = os.stat(WORKSPACE_FOLDER, dir_fd=fd, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode):
        raise WorkspaceTaken(
            f"{work_tree} is a link or a file: the files of this archive are not written through it.",
            hint=f"Move {work_tree} away; the folder is then made anew and its files are written by themselves.",
            data={"path": str(work_tree), "archive": str(place)},
        )
    lead_people(place, work_tree)
    keep_out_of_status(project, WORKSPACE_FOLDER)
    sync_files(RealFolder(project), {f"{WORKSPACE_FOLDER}/{_GIT_FILE}"})


def _set_aside(fd: int) -> None:
    """A Git directory of former times, or one that somebody planted: kept under a name that Git does not look for."""
    taken = names_in(fd)
    names = (SET_ASIDE, *(f"{SET_ASIDE}-{number}" for number in range(2, _MOST_SET_ASIDE)))
    free = next((name for name in names if name not in taken), None)
    if free is None:
        raise FileExistsError(f"{SET_ASIDE} and {_MOST_SET_ASIDE - 2} more have been put aside already")
    os.rename(_GIT_FILE, free, src_dir_fd=fd, dst_dir_fd=fd)


def _git_file(place: Path) -> bytes:
    return b"gitdir: %s\n" % os.fsencode(place.absolute() / ".git")


def _is_git_file(fd: int, wanted: bytes) -> bool:
    try:
        return read_plain(_GIT_FILE, _SMALL_BYTES, follow=False, dir_fd=fd) == wanted
    except UnfitFile:
        return False


def _require_free(work_tree: Path, place: Path) -> None:
    """Nothing may lie there but what an interrupted begin, or this very archive, left: a folder that names it."""
    if _is_free(work_tree, place):
        return
    raise WorkspaceTaken(
        f"{work_tree} is there already and is no archive of this store.",
        hint=f"Move {work_tree} away, or set ARCHIVE_LOCATION=store.",
        data={"path": str(work_tree)},
    )


def _is_free(work_tree: Path, place: Path) -> bool:
    try:
        with opened(RealFolder(work_tree)) as fd:
            return not names_in(fd) - unfinished(fd, _GIT_FILE) or _is_git_file(fd, _git_file(place))
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        return False
