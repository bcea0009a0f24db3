"""Projects: where their archives lie, and what makes two work trees one project."""

from __future__ import annotations

from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.project_identity import IdentityMode
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.workspace.identity import WorkspaceIdentities


def project_identities(settings: Settings, looks: Looks) -> Identities:
    workspace = WorkspaceIdentities(remote=settings.project_identity_remote)
    return Identities(workspace, IdentityMode(settings.project_identity_mode), looks=looks)


def archive_places(settings: Settings) -> ArchivePlaces:
    return ArchivePlaces(
        projects_path=settings.storage_root / PROJECTS_FOLDER, in_workspace=settings.archive_location == "workspace"
    )
