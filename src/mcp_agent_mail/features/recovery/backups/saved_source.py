"""A file of `am archive save` as what a store is restored from: a store is made of it by a rebuild, tokens and all that
no archive tells of are not in it.
"""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.features.archiving.protocol import ArchiverSettings
from mcp_agent_mail.features.recovery.backups.backup import Told
from mcp_agent_mail.features.recovery.backups.undo import StoreParts
from mcp_agent_mail.features.recovery.restore_saved import RestoreOutcome, RestoreRequest, build_saved
from mcp_agent_mail.features.recovery.saved_file import open_saved


class ProjectsMissing(Conflict):
    """It holds some projects of the store that it should replace, and the others would be gone."""


class SavedSource:
    def __init__(self, file: Path) -> None:
        """Raises UnfitSavedFile where that is no saved file; its histories are looked at by `build`."""
        self._file = file
        with open_saved(file) as saved:
            self.manifest = saved.manifest

    def require_whole(self, store_id: str) -> None:
        """Raise ProjectsMissing where it was made of some projects of the store `store_id` alone."""
        if self.manifest.is_partial:
            raise ProjectsMissing(
                f"{self._file} holds {len(self.manifest.projects)} projects of store {store_id}, not all of it.",
                hint="Nothing was changed. Make a store of its own of it: am archive restore FILE --into DIR",
                data={"projects": [project.slug for project in self.manifest.projects][:20]},
            )

    def build(self, parts: StoreParts, archiver: ArchiverSettings, told: Told) -> RestoreOutcome:
        """A whole store at `parts`, whose folder is there and empty; verified. Raises as `build_saved` does, and leaves
        what there is then to the caller.
        """
        request = RestoreRequest(
            file=self._file,
            new_paths=(),
            settings=archiver,
            unpacking=told("unpacking archives"),
            rebuilding=told("rebuilding"),
        )
        return build_saved(request, parts.folder, parts.database)
