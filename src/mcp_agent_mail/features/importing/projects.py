"""Where a project of another system goes: to the project of its directory, else to where all goes that has none."""

from __future__ import annotations

from mcp_agent_mail.domain.importing.fitted_texts import fit_time
from mcp_agent_mail.domain.importing.records import SourceKind, SourceProject
from mcp_agent_mail.domain.projects import Project, canonical_path, is_path
from mcp_agent_mail.features.importing.unit_of_work import RunningUnit
from mcp_agent_mail.features.projects.ensure import ProjectRequest, ensure, find_foreseen, record_event
from mcp_agent_mail.features.projects.lookup import find_known_path, require_project, require_writable
from mcp_agent_mail.store.transaction import Tx, View


def place_of(source: SourceProject, home: str) -> str:
    """The path, or the slug, of the project here."""
    return home if source.human_key is None else source.human_key


def find_at(view: View, place: str) -> Project | None:
    """The project that is there; None for a directory that is none yet. Raises UnknownProject for a slug."""
    return find_known_path(view, canonical_path(place)) if is_path(place) else require_project(view, place)


def take_project(unit: RunningUnit, source: SourceProject, place: str, request: ProjectRequest | None) -> None:
    """Once. A project that is there keeps what it says of itself; one that is made is as old as where it comes from.
    Raises ProjectArchived.
    """
    counts = unit.tally.of(SourceKind.PROJECT)
    known = unit.find(SourceKind.PROJECT, source.key)
    if known is not None:
        counts.known += 1
        project = unit.project(source.key)
        if project is not None:
            require_writable(project)
        return
    counts.added += 1
    if unit.tx is None:
        return
    project = require_project(unit.tx, place) if request is None else _ensure(unit.tx, source, request)
    require_writable(project)
    unit.take(SourceKind.PROJECT, [source.key], project.id, project.id)


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
