"""Where the files of archives lie (ARCHIVE_LOCATION): in the store, or in the projects' own directories.

They stay where the archive was begun, whatever the setting says later. The Git directory lies in the store always.
"""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.archive.git_folder import is_real_work_tree_noted, real_work_tree_of, work_tree_of
from mcp_agent_mail.archive.relocation import finish_move, move_into_store
from mcp_agent_mail.archive.workspace import WORKSPACE_FOLDER, begin_in_workspace, is_begun, return_to_workspace
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import real_path
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.protocol import place_in
from mcp_agent_mail.workspace.lent_places import LentFolder, folder_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePlaces:
    """`in_workspace`: archives begun from now on have their files in the project's directory, where that exists."""

    projects_path: Path
    in_workspace: bool = False

    def find(self, project: Project) -> Path:
        """Where people find the archive, or where it will be begun. Looks at the disk. Raises SlugRefused."""
        place = place_in(self.projects_path, project.slug)
        if place.is_symlink():
            return place.readlink()
        return Path(project.human_key) / WORKSPACE_FOLDER if self._begins_in_workspace(project) else work_tree_of(place)

    def find_lent(self, project: Project) -> LentFolder | None:
        """The folder with the files of the archive, once it is begun, for callers that name files of it: where they
        really lie, never where a link leads that has taken its place. Looks at the disk. Raises SlugRefused.
        """
        place = place_in(self.projects_path, project.slug)
        if place.is_symlink() or not is_begun(place):
            return None
        named = work_tree_of(place)
        if named == place:
            return folder_at(place_in(Path(real_path(str(self.projects_path))), project.slug), named=named)
        return folder_at(real_work_tree_of(place), named=named) if is_real_work_tree_noted(place) else None

    def prepare(self, project: Project, store_id: str) -> Path:
        """The path to open the archive by, with room made for its files. Raises ArchiveRefused.

        One of former times is moved into the store first.
        """
        place = place_in(self.projects_path, project.slug)
        finish_move(place)
        if place.is_symlink():
            move_into_store(place, store_id)
        if self._begins_in_workspace(project):
            begin_in_workspace(place, Path(project.human_key))
        else:
            return_to_workspace(place)
        return place

    def _begins_in_workspace(self, project: Project) -> bool:
        place = place_in(self.projects_path, project.slug)
        return self.in_workspace and not is_begun(place) and Path(project.human_key).is_dir()
