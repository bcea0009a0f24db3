"""Brings an adoption into Git: the adopted archive's history is joined, and every file says the new names."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.fast_import import Put
from mcp_agent_mail.archive.git_folder import ArchiveRefused, make_ours, real_work_tree_of
from mcp_agent_mail.archive.relocation import finish_move, move_into_store
from mcp_agent_mail.archive.repository import ArchiveRepository, SealedCommit
from mcp_agent_mail.archive.workspace import lead_people
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.archive_format.attachments import Content
from mcp_agent_mail.domain.archive_format.commit_message import commit_text
from mcp_agent_mail.domain.archive_format.lease_snapshot import snapshot_name
from mcp_agent_mail.domain.archive_format.leases import Snapshot, stand_in
from mcp_agent_mail.domain.events import EventKind, OutboxEvent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.artifact_files import ArtifactFiles
from mcp_agent_mail.features.archiving.protocol import place_in
from mcp_agent_mail.store.checks.artifacts import open_artifacts

ADOPTED_FOLDER = "adopted"


class AdoptedGone(ArchiveRefused):
    """The archive of an adopted project is nowhere to be found."""


def adoption_snapshot(source: str | None) -> Snapshot:
    """`source` is the former slug of the project whose archive is joined; None where only names have changed."""
    return stand_in({"source": source})


def up_to_adoption(events: list[OutboxEvent]) -> list[OutboxEvent]:
    """The events before the first adoption, or that adoption alone: it is a batch of its own."""
    for number, event in enumerate(events):
        if event.kind is EventKind.ADOPTION:
            return events[: max(1, number)]
    return events


def write_adoption(
    projects_path: Path, database_path: Path, writer: ArchiveWriter, project: Project, event: OutboxEvent, at: Micros
) -> SealedCommit:
    """Write an adoption into the archive as one commit. Repeated after a crash it finds what was done and goes on."""
    slug = event.snapshot["source"]
    source = None if slug is None else _set_aside(projects_path, slug, writer.store_id)
    with open_artifacts(database_path) as artifacts:

        def render(put: Put) -> None:
            def pass_on(_: ProjectId, path: str, content: Content | None) -> None:
                put(path, content)

            version = writer.version
            ArtifactFiles(artifacts, pass_on, _silent, version_of=lambda _: version, only=project.id).run()

        return writer.rewrite(render, commit_text([event]), at, source=source)


def _set_aside(projects_path: Path, slug: str, store_id: str) -> Path:
    """Where the adopted archive lies from now on: whole, and no project's. Its files stay where they are."""
    place, aside = place_in(projects_path, slug), place_in(projects_path.parent / ADOPTED_FOLDER, slug)
    finish_move(place)
    if place.is_symlink():
        move_into_store(place, store_id)
    if place.is_symlink() or place.exists():
        aside.parent.mkdir(exist_ok=True, mode=0o700)
        place.rename(aside)
        sync_path(aside.parent)
        sync_path(projects_path)
    (projects_path / snapshot_name(slug)).unlink(missing_ok=True)
    if not ArchiveRepository(aside).exists():
        raise AdoptedGone(
            f"The archive of the adopted project {slug} is neither at {place} nor at {aside}.",
            hint=f"Put it back to {aside}: it is then gone on with by itself.",
            data={"path": str(aside)},
        )
    make_ours(aside)
    if (work_tree := real_work_tree_of(aside)) != aside:
        # It may be gone, with its project; its history is what counts.
        with suppress(OSError):
            lead_people(aside, work_tree)
    return aside


def _silent(done: int, total: int) -> None:
    """Nobody watches."""
