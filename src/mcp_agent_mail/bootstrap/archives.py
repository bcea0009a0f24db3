"""What the archiver is told."""

from __future__ import annotations

from mcp_agent_mail.core.failpoints import Kill
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.archiving.protocol import ArchiverSettings


def archiver_settings(settings: Settings, *, failpoint: Kill | None = None) -> ArchiverSettings:
    """What the archiver needs of the settings, for the child process and for a drain in process."""
    return ArchiverSettings(
        storage_root=str(settings.storage_root),
        database_path=str(settings.database_path),
        author_name=settings.git_author_name,
        author_email=settings.git_author_email,
        commit_interval_ms=settings.archive_commit_interval_ms,
        in_workspace=settings.archive_location == "workspace",
        max_tracked_files=settings.archive_max_tracked_files,
        failpoint=failpoint,
    )
