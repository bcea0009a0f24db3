"""Where a project of another system goes: to the project of its directory, else to where all goes that has none."""

from __future__ import annotations

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.domain.importing.fitted_texts import fit_time
from mcp_agent_mail.domain.importing.records import SourceKind, SourceProject
from mcp_agent_mail.domain.projects import Project, canonical_path, is_path
from mcp_agent_mail.features.importing.unit_of_work import RunningUnit
from mcp_agent_mail.features.projects.ensure import ProjectRequest, ensure, find_foreseen, record_event
from mcp_agent_mail.features.projects.lookup import find_known_path, require_project, require_writable
from mcp_agent_mail.store.transaction import Tx, View


class KeptElsewhere(Conflict):
    """Another project was asked for than the one that the store was brought into."""


class ArchiveKnown(Conflict):
    """An archive whose mail came in with its database."""


def place_of(source: SourceProject, home: str) -> str:
    """The path, or the slug, of the project here."""
    return home if source.human_key is None else source.human_key


def find_at(view: View, place: str) -> Project | None:
    """The project that is there; None for a directory that is none yet. Raises UnknownProject for a slug."""
    return find_known_path(view, canonical_path(place)) if is_path(place) else require_project(view, place)


def take_project(unit: RunningUnit, source: SourceProject, place: str, request: ProjectRequest | None) -> None:
    """Once. A project that is there keeps what it says of itself; one that is made is as old as where it comes from.
    Raises ProjectArchived, KeptElsewhere, ArchiveKnown.
    """
    counts = unit.tally.of(SourceKind.PROJECT)
    known = unit.find(SourceKind.PROJECT, source.key)
    if known is not None:
        counts.known += 1
        project = unit.project(source.key)
        if project is not None:
            require_writable(project)
            _require_same(unit, source, place, request, project)
        return
    _require_new(unit)
    counts.added += 1
    if unit.tx is None:
        return
    project = require_project(unit.tx, place) if request is None else _ensure(unit.tx, source, request)
    require_writable(project)
    unit.take(SourceKind.PROJECT, [source.key], project.id, project.id)


def _require_new(unit: RunningUnit) -> None:
    """An archive tells its agents and leases by other keys than its database does: beside what that brought in they
    would all be made again.
    """
    if unit.view.imported.is_copy_of_another(unit.source):
        raise ArchiveKnown(
            "This archive's mail is here already: it came in with its database, and what the archive adds, agents and "
            "leases, would be made again.",
            hint="Nothing was written. Name the database, and this as its archive: "
            f"am import {unit.source.system} DATABASE --archive ARCHIVE",
            data={"system": unit.source.system},
        )


def _require_same(
    unit: RunningUnit, source: SourceProject, place: str, request: ProjectRequest | None, project: Project
) -> None:
    """What came in once goes on where it went. Raises KeptElsewhere where another place was asked for; what has moved
    by itself, its directory or the setting, is a note.
    """
    meant = find_at(unit.view, place) if request is None else find_foreseen(unit.view, request)
    if meant is not None and meant.id == project.id:
        return
    if source.human_key is None and unit.named is not None:
        raise KeptElsewhere(
            f"This store has been brought into {project.human_key} before, and goes on there, not into {place}.",
            hint=f"Leave --project out, or name that one: --project {project.human_key}",
            data={"project": project.human_key, "asked": place},
        )
    unit.tally.note(f"{source.human_key or source.slug or 'This store'} goes on in {project.human_key}, as before.")


def _ensure(tx: Tx, source: SourceProject, request: ProjectRequest) -> Project:
    is_there = find_foreseen(tx, request) is not None
    project = ensure(tx, request)
    if is_there:
        return project
    tx.past_times.set_project(project.id, fit_time(source.created_ts))
    dated = tx.projects.find(project.id)
    assert dated is not None, project
    record_event(tx, dated, None)
    return dated
