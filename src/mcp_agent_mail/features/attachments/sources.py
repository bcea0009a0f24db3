"""Where the contents of attachments come from: files that are lent, and targets that are of this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.attachments.data_uris import is_data_uri
from mcp_agent_mail.features.attachments.requests import AttachmentRequest
from mcp_agent_mail.workspace.lent_files import ArchivedContent, LentFile, LentRoots, open_lent
from mcp_agent_mail.workspace.lent_places import LentFolder, ProjectFolders, ServerNames

FindFolders = Callable[[Project, str], Awaitable[ProjectFolders]]
"""The directories of the project that a caller may mean by how it named it."""

_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_KEPT = lazy_pattern(r"/attachments/([0-9a-f]{2})/\1[0-9a-f]{62}\.[a-z0-9]{1,8}")


class RemotePath(InvalidInput):
    """A caller on another machine names a path: it means none of its own files here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lender:
    """Opens the files that callers name: of the project's directories, and of its archive.

    `find_archive` says where the archive's files really lie, and looks at the disk. `never`, `apart` and `own_names` as
    in LentRoots.
    `may_be_anywhere`: files outside of these too, which the operator may name always.
    """

    find_archive: Callable[[Project], LentFolder | None]
    never: tuple[Path, ...]
    apart: tuple[Path, ...] = ()
    own_names: tuple[ServerNames, ...] = ()
    may_be_anywhere: bool = False

    def open(self, path: str, request: AttachmentRequest, directories: ProjectFolders) -> LentFile | ArchivedContent:
        """It may wait for a disk. Raises RemotePath, and what `open_lent` raises."""
        require_local(path, request)
        roots = LentRoots(
            workspaces=directories.found,
            archive=self.find_archive(request.project),
            never=self.never,
            apart=self.apart,
            elsewhere=directories.elsewhere,
            own_names=self.own_names,
        )
        return open_lent(path, roots, may_be_anywhere=self.may_be_anywhere or request.caller.is_operator)


def require_local(path: str, request: AttachmentRequest) -> None:
    """Raise RemotePath for the path of a caller on another machine: the disk is not looked at for it."""
    if request.caller.is_remote:
        raise RemotePath(
            f"{path[:200]!r} is a path, and you call from another machine.",
            hint="Send the content itself, as data:<media type>;base64,…",
            data={"parameter": "attachment_paths"},
        )


def is_url(target: str) -> bool:
    """Whether an image of a body lies somewhere else: it has a scheme or a host."""
    return _URL.match(target) is not None and not is_data_uri(target)


def is_kept(target: str) -> bool:
    """Whether an image of a body is an attachment already, as in a quoted message."""
    return _KEPT.fullmatch(target) is not None
