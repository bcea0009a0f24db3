"""Where a store lies, and what of it is the store: what a backup holds and a restore replaces."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER
from mcp_agent_mail.archive.relocation import MOVING_FOLDER
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.archiving.adopt import ADOPTED_FOLDER
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER

FOLDERS = (PROJECTS_FOLDER, ADOPTED_FOLDER, ATTACHMENTS_FOLDER, MOVING_FOLDER)
"""Of a store, beside its database. All else in STORAGE_ROOT is made anew, or says who runs there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlace:
    storage_root: Path
    database_path: Path
