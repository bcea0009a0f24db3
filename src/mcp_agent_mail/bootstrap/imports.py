"""What takes over other systems' stores, wired."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.features.importing.contents import ImportedContents
from mcp_agent_mail.features.importing.service import ImportService
from mcp_agent_mail.features.importing.unit_of_work import ImportRules
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.store.database import Store


def import_service(
    settings: Settings,
    store: Store,
    projects: ProjectService,
    files: AttachmentFiles,
    *,
    throttle: Callable[[float], Awaitable[None]],
) -> ImportService:
    """Over the same limits of size as sends have. What knows no projects goes where doors have their mail."""
    return ImportService(
        store,
        projects,
        ImportedContents(files, settings.attachment_max_bytes, require_room=store.growth.require),
        rules=ImportRules(
            home=settings.facades_project,
            body_max_bytes=settings.message_body_max_bytes,
            attachment_max_bytes=settings.attachment_max_bytes,
            inline_max_bytes=settings.inline_image_max_bytes,
            auth=AgentAuth(settings.agent_auth),
        ),
        throttle=throttle,
    )
