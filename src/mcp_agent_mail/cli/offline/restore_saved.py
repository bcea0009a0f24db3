"""Makes a store of a saved file: in an empty folder, or where the settings say that the store is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.cli.offline.store_lock import lone_owner, told_without_room
from mcp_agent_mail.cli.project_option import absolute_key
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.own_files import DATABASE_FILE
from mcp_agent_mail.domain.projects import UnfitPath, canonical_path
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.projects.lookup import resolved_path
from mcp_agent_mail.features.recovery.restore_saved import (
    NewPath,
    RestoreRequest,
    restore_here,
    restore_into,
)


class UnfitPair(InvalidInput):
    """Not of the form OLD=NEW."""


# Plain JSON, as `--json` prints it.
def restore_offline(
    settings: Settings,
    file: Path,
    *,
    into: Path | None,
    new_paths: Sequence[NewPath],
    unpacking: Progress,
    rebuilding: Progress,
) -> dict[str, Any]:
    """Restore the file, and tell what was made. Raises StoreOccupied while a server runs where it is to be made; else
    as `restore_into`.
    """
    request = RestoreRequest(
        file=file,
        new_paths=new_paths,
        settings=archiver_settings(settings),
        unpacking=unpacking,
        rebuilding=rebuilding,
    )
    if into is not None:
        with told_without_room(settings, into):
            restored = restore_into(request, into)
        root, database = into.absolute(), into.absolute() / DATABASE_FILE
    else:
        root, database = settings.storage_root, settings.database_path
        with lone_owner(settings):
            restored = restore_here(request, root, database)
    projects = restored.manifest.projects
    return {
        "path": str(root),
        "database": str(database),
        "store_id": restored.manifest.store_id,
        "projects": [asdict(project) for project in projects],
        "messages": sum(project.messages for project in projects),
        "mapped": [asdict(path) for path in request.new_paths],
        "left_out": list(restored.left_out),
        "not_rebuilt": list(restored.rebuilt.not_rebuilt),
    }


def read_pair(text: str) -> NewPath:
    """`OLD=NEW`, parted at the first `=` that a path follows: there may be some in the old one. Raises UnfitPair."""
    parts = text.split("=")
    for at in range(1, len(parts)):
        old, new = "=".join(parts[:at]), "=".join(parts[at:])
        if new.startswith(("/", ".", "~")):
            with suppress(UnfitPath):
                return NewPath(old=canonical_path(old), new=resolved_path(absolute_key(new, "--map")))
    raise UnfitPair(
        f"{text!r:.300} is no --map OLD=NEW.",
        hint="Both are absolute paths: the project's path there, = and its path here: --map /home/ann/app=/home/bo/app",
    )
