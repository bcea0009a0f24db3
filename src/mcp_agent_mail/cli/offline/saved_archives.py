"""Saves, lists and exports archives from their files, with a server or without one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from tempfile import gettempdir
from typing import Any, BinaryIO

from mcp_agent_mail.archive.reading.faults import damage_told
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.offline.store_lock import told_when_replaced, told_without_room
from mcp_agent_mail.cli.project_option import absolute_key
from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.protocol import archive_path
from mcp_agent_mail.features.projects.lookup import called_by_people, looking_at_disk, require_project
from mcp_agent_mail.features.recovery.export import export
from mcp_agent_mail.features.recovery.found_archives import find_slug
from mcp_agent_mail.features.recovery.save import (
    KnownStore,
    SavedArchives,
    known_store,
    require_held,
    save,
    save_to_stream,
)
from mcp_agent_mail.features.recovery.saved_archives import check
from mcp_agent_mail.features.recovery.saved_file import SavedManifest
from mcp_agent_mail.store.checks.artifacts import open_artifacts
from mcp_agent_mail.store.engine.free_space import told_when_full
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed, faults_told
from mcp_agent_mail.store.engine.sqlite.migrate import StoreRefused, require_same
from mcp_agent_mail.store.engine.sqlite.schema import open_own
from mcp_agent_mail.store.transaction import View

# Plain JSON, as `--json` prints it; here and below.
Answer = dict[str, Any]


class DatabaseState(StrEnum):
    """What became of asking the database what archives there should be, and what Git has not got yet."""

    READ = "read"
    MISSING = "missing"
    """There is none, so that the archives are all there is."""
    UNREADABLE = "unreadable"
    """It may know of more than the archives have."""


def save_offline(context: CliContext, target: Path, keys: Sequence[str], *, progress: Progress) -> Answer:
    """Save the archives of these projects, or of all, into a new file."""
    with told_when_replaced(context.settings), told_without_room(context.settings, target):
        known, database = _known(context)
        only = _slugs(context, keys, known)
        saved = save(context.storage_root, target, known=known, only=only, progress=progress)
    return _saved(str(target.absolute()), saved, database)


def save_to_stdout(context: CliContext, out: BinaryIO, keys: Sequence[str], *, progress: Progress) -> Answer:
    """As `save_offline`, into a stream."""
    with told_when_replaced(context.settings), told_without_room(context.settings):
        known, database = _known(context)
        only = _slugs(context, keys, known)
        saved = save_to_stream(context.storage_root, out, known=known, only=only, progress=progress)
    return _saved("-", saved, database)


def list_offline(file: Path, *, progress: Progress) -> Answer:
    """Check all of a saved file, and say what is in it. Raises UnfitSavedFile."""
    with told_when_full(Path(gettempdir())):
        found = check(file, progress=progress)
    return {
        "file": str(file.absolute()),
        "bytes": found.bytes,
        "sha256": found.sha256,
        "store_id": found.manifest.store_id,
        "partial": found.manifest.is_partial,
        "projects": _projects(found.manifest),
    }


def export_offline(context: CliContext, key: str, target: Path, *, is_exact: bool, progress: Progress) -> Answer:
    """Export the project's history into a new folder."""
    with told_without_room(context.settings, target):
        return _export(context, key, target, is_exact=is_exact, progress=progress)


def _export(context: CliContext, key: str, target: Path, *, is_exact: bool, progress: Progress) -> Answer:
    known, database = _known(context)
    (slug,) = _slugs(context, [key], known)
    archive = archive_path(context.storage_root, slug)
    require_held(context.storage_root, slug, known)
    with damage_told(archive, has_database=known is not None):
        made = export(archive, target, storage_root=context.storage_root, is_exact=is_exact, progress=progress)
    return {
        "project": slug,
        "path": made.path,
        "commit": made.commit,
        "commits": made.commits,
        "exact": made.is_exact,
        "database": database,
    }


def _saved(name: str, saved: SavedArchives, database: DatabaseState) -> Answer:
    return {
        "file": name,
        "bytes": saved.bytes,
        "sha256": saved.sha256,
        "projects": _projects(saved.manifest),
        "pending_events": saved.pending_events,
        "database": database,
    }


def _projects(manifest: SavedManifest) -> list[Answer]:
    return [asdict(project) for project in manifest.projects]


def _known(context: CliContext) -> tuple[KnownStore | None, DatabaseState]:
    """What the database says. Archives stand for themselves: where it cannot be asked that is said, and they go on."""
    path = context.settings.database_path
    if not context.store_exists() and not os.path.lexists(path):
        _tell_archives_alone(f"There is none at {path}.")
        return None, DatabaseState.MISSING
    try:
        with faults_told():
            require_same(path)
            with open_artifacts(path) as artifacts:
                return known_store(artifacts, system_clock()), DatabaseState.READ
    except (StoreRefused, StoreFailed) as refused:
        _tell_archives_alone(refused.message)
        return None, DatabaseState.UNREADABLE


def _tell_archives_alone(why: str) -> None:
    sys.stderr.write(visible(f"Notice: only the archives were asked, not the database: {why}\n"))


def _slugs(context: CliContext, keys: Sequence[str], known: KnownStore | None) -> list[str]:
    """Of projects by path or slug; without a database those whose archives are there."""
    if known is None:
        return [find_slug(context.storage_root, key, absolute_key(key, "--project")) for key in keys]
    if not keys:
        return []
    with closing(open_own(context.settings.database_path)) as connection, looking_at_disk(), called_by_people():
        view = View(connection, system_clock)
        return [_slug(view, absolute_key(key, "--project")) for key in keys]


def _slug(view: View, key: str) -> str:
    try:
        return require_project(view, key).slug
    except UnknownProject as unknown:
        near = unknown.data.get("nearest") or ()
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        raise unknown.reworded(
            hint=f"{meant}`am projects list` shows those that there are.", data=unknown.data
        ) from unknown
