"""Where the archives of projects lie (ARCHIVE_LOCATION): in the store, or in the projects' own directories.

An archive stays where it was begun, whatever the setting says later: the store's folder holds the
archive itself or a link to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.archive.workspace import WORKSPACE_FOLDER, begin_in_workspace, return_to_workspace
from mcp_agent_mail.domain.projects import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePlaces:
    """`in_workspace`: archives begun from now on lie in the project's directory, where that exists."""

    projects_path: Path
    in_workspace: bool = False

    def find(self, project: Project) -> Path:
        """Where the archive lies, or where it will be begun. Looks at the disk."""
        place = self.projects_path / project.slug
        if place.is_symlink():
            return place.readlink()
        return Path(project.human_key) / WORKSPACE_FOLDER if self._begins_in_workspace(project) else place

    def prepare(self, project: Project, store_id: str) -> Path:
        """The path to open the archive by, with room made where it leads. Raises ArchiveRefused."""
        place = self.projects_path / project.slug
        if place.is_symlink():
            return_to_workspace(place)
        elif self._begins_in_workspace(project):
            begin_in_workspace(place, Path(project.human_key), store_id)
        return place

    def _begins_in_workspace(self, project: Project) -> bool:
        is_begun = (self.projects_path / project.slug).exists()
        return self.in_workspace and not is_begun and Path(project.human_key).is_dir()
