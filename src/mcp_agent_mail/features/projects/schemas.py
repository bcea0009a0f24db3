"""What callers get to see of projects. Keys are a wire contract."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.clock import iso_or_none
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.projects.results import FoundProject, KnownIdentity
from mcp_agent_mail.features.projects.shapes import show_project


def show_ensured(ensured: FoundProject, archive_path: Path) -> JsonObject:
    """A project, what the directory is where that was asked for, and as `hint` what speaks against having made it."""
    identity = {} if ensured.identity is None else show_identity(ensured.identity)
    hint = {"hint": ensured.doubt} if ensured.doubt else {}
    return {**identity, **show_project(ensured.project), "archive_path": str(archive_path), **hint}


def show_identity(known: KnownIdentity) -> JsonObject:
    """What says which project a directory is: what was looked at, and what follows from it. `aliases` and `notices` are
    there only when there are any.
    """
    repository, marks = known.facts.repository, known.facts.marks
    wire: JsonObject = {
        "slug": known.project.slug,
        "identity_mode_used": known.identity.mode_used.value,
        "identity_source": known.identity.source.value,
        "canonical_path": known.identity.canonical_path,
        "human_key": known.project.human_key,
        "repo_root": None if repository is None else repository.root,
        "git_common_dir": None if repository is None else repository.common_dir,
        "branch": None if repository is None else repository.branch,
        "worktree_name": None if repository is None else repository.worktree,
        "core_ignorecase": None if repository is None else repository.ignore_case,
        "normalized_remote": None if repository is None else repository.remote,
        "project_uid": known.uid,
        "discovery": None if marks.discovery is None else dict(marks.discovery),
    }
    if known.aliases:
        wire["aliases"] = [alias.name for alias in known.aliases]
    if notices := [*marks.notices, *_rivalry(known)]:
        wire["notices"] = notices
    return wire


def _rivalry(known: KnownIdentity) -> list[str]:
    if known.rival is None:
        return []
    own, other = known.project.slug, known.rival.slug
    told = (
        f"By its identity this directory belongs to {other}, but it was a project of its own first and stays one. "
        f"To join them stop the server and run: am projects adopt {own} {other}"
    )
    return [told]


def show_archiving(project: Project) -> JsonObject:
    """The answer to archiving a project and to bringing it back. `archived_at` is null while it is not archived."""
    return {
        "slug": project.slug,
        "human_key": project.human_key,
        "archived": project.is_archived,
        "archived_at": iso_or_none(project.archived_ts),
    }
