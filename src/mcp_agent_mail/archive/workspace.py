"""An archive in its project's own directory: `<project>/.mcp-mail/`, with a link to it among the store's archives.

The link is what says where an archive lies: it is made before the archive, so a change of the setting
moves nothing, and everything that reads archives finds them in one folder.
"""

from __future__ import annotations

import os
from pathlib import Path

from mcp_agent_mail.archive.ownership import ArchiveRefused, store_of
from mcp_agent_mail.archive.repository import Repository, sync
from mcp_agent_mail.core.git import GitFailed, run_git

WORKSPACE_FOLDER = ".mcp-mail"
_EXCLUDED = f"{WORKSPACE_FOLDER}/"
_OWNER_ONLY = 0o700
_NO_REPOSITORY = "not a git repository"


class WorkspaceTaken(ArchiveRefused):
    """Something else lies where the project's archive is to be begun."""


class WorkspaceGone(ArchiveRefused):
    """The project directory that holds the archive is not there."""


def begin_in_workspace(link: Path, project: Path, store_id: str) -> None:
    """Make room in the directory `project` and let `link` lead there. Safe to repeat."""
    place = project / WORKSPACE_FOLDER
    _require_free(place, store_id)
    place.mkdir(mode=_OWNER_ONLY, exist_ok=True)
    keep_out_of_status(project)
    sync(project)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(place, target_is_directory=True)
    sync(link.parent)


def return_to_workspace(link: Path) -> None:
    """Before an archive behind `link` is opened: is its project there, and is the archive still out of its status?"""
    place = link.readlink()
    project = place.parent
    if not project.is_dir():
        raise WorkspaceGone(
            f"{project} is not there, and the archive lay in it (ARCHIVE_LOCATION=workspace).",
            hint=f"Put {project} back: it is then gone on with by itself. If it is lost for good, stop the "
            f"server, remove the link {link} and run `am archive renew {link.name}`.",
            data={"path": str(place), "link": str(link)},
        )
    place.mkdir(mode=_OWNER_ONLY, exist_ok=True)
    keep_out_of_status(project)


def keep_out_of_status(project: Path) -> None:
    """Name the archive in `info/exclude` of the code repository around it, if there is one. Touches nothing tracked.

    Work trees of one repository share that file.
    """
    exclude = _exclude_file(project)
    if exclude is None:
        return
    if _git(project, "ls-files", "-z", "--", WORKSPACE_FOLDER):
        raise WorkspaceTaken(
            f"{project / WORKSPACE_FOLDER} is tracked by the code repository around it.",
            hint=f"Take it out (git -C {project} rm -r --cached {WORKSPACE_FOLDER}), or set ARCHIVE_LOCATION=store.",
            data={"path": str(project / WORKSPACE_FOLDER)},
        )
    before = exclude.read_bytes() if exclude.exists() else b""
    if _EXCLUDED.encode() in before.splitlines():
        return
    exclude.parent.mkdir(exist_ok=True)
    gap = b"\n" if before and not before.endswith(b"\n") else b""
    with exclude.open("ab") as file:
        file.write(gap + _EXCLUDED.encode() + b"\n")


def _exclude_file(project: Path) -> Path | None:
    try:
        answer = _git(project, "rev-parse", "--is-inside-work-tree", "--git-path", "info/exclude")
    except GitFailed as failed:
        if _NO_REPOSITORY in failed.message:
            return None
        raise
    is_inside, _, path = os.fsdecode(answer).rstrip("\n").partition("\n")
    return project / path if is_inside == "true" else None


def _git(project: Path, *arguments: str) -> bytes:
    # A directory of another user is theirs to own: these two commands run nothing that it could configure.
    return run_git("-C", str(project), *arguments, config=("safe.directory=*",))


def _require_free(place: Path, store_id: str) -> None:
    """Nothing may lie there but what an interrupted begin, or this store's own archive, left."""
    if not place.is_symlink() and not place.exists():
        return
    if place.is_dir() and not place.is_symlink():
        repository = Repository(place)
        is_ours = repository.exists() and store_of(repository) == store_id
        if is_ours or not any(place.iterdir()):
            return
    raise WorkspaceTaken(
        f"{place} is there already and is no archive of this store.",
        hint=f"Move {place} away, or set ARCHIVE_LOCATION=store.",
        data={"path": str(place)},
    )
