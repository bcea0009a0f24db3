"""What an agent was over time: each commit that changed its profile, from the archive of its project."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from mcp_agent_mail.archive.history import FileHistory, FileVersion
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedAgent
from mcp_agent_mail.domain.archive_format.layout import profile_path
from mcp_agent_mail.domain.archive_format.parse.files import UnreadableArtifact, parse_file
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.protocol import archive_path
from mcp_agent_mail.features.history.results import AgentHistory, ProfileChange, ProfileEvent
from mcp_agent_mail.store.transaction import View

MAX_PROFILE_BYTES = 128 * 1024
"""Ours have 30 KiB at most; a larger one is somebody else's."""

_TIME_OF_CHANGE = "profiled_ts"
_OF_DOORS = frozenset({"aliases", "is_unclaimed"})
_NOT_COMPARED = ("id", "kind", "inception_ts", _TIME_OF_CHANGE)


def read_profile_changes(view: View, agent: Agent, project: Project, storage_root: Path, limit: int) -> AgentHistory:
    """The newest `limit` changes of the agent's profile: what it is, its policies, when it retired.

    What changed several times before one commit is one change. Raises ArchiveNotFound where Git should have the past
    and has not.
    """
    path = archive_path(storage_root, project.slug)
    versions = []
    if view.outbox.last_commit(project.id) is not None:
        versions = FileHistory(path).versions(profile_path(agent.name), limit=limit + 1, max_bytes=MAX_PROFILE_BYTES)
    changes: list[ProfileChange] = []
    before: ArchivedAgent | None = None
    for version in reversed(versions):
        change = _change(version, before, path=profile_path(agent.name))
        changes.append(change)
        before = change.profile or before
    now = _as_archived(view, agent)
    if before != now:
        changes.append(_compared(now, before, None))
    is_whole = len(versions) <= limit
    newest_first = changes[::-1]
    return AgentHistory(
        agent=agent, project=project, changes=newest_first[:limit] if is_whole else newest_first[:-1][:limit]
    )


def _change(version: FileVersion, before: ArchivedAgent | None, *, path: str) -> ProfileChange:
    profile = None if version.content is None else _parsed(path, version.content)
    if profile is None:
        return ProfileChange(
            ts=version.authored_ts, event=ProfileEvent.UNREADABLE, profile=None, changed=(), hexsha=version.hexsha
        )
    change = _compared(profile, before, version.hexsha)
    if before is not None and profile.profiled_ts == before.profiled_ts:
        # The profile itself knows no time of it: its project was adopted, or somebody wrote the file by hand.
        return replace(change, ts=version.authored_ts)
    return change


def _parsed(path: str, content: bytes) -> ArchivedAgent | None:
    try:
        found = parse_file(path, content, FORMAT_VERSION)
    except UnreadableArtifact:
        return None
    return found if isinstance(found, ArchivedAgent) else None


def _compared(profile: ArchivedAgent, before: ArchivedAgent | None, hexsha: str | None) -> ProfileChange:
    if before is None:
        return ProfileChange(
            ts=profile.inception_ts, event=ProfileEvent.JOINED, profile=profile, changed=(), hexsha=hexsha
        )
    names = (field.name for field in fields(ArchivedAgent) if field.name not in _NOT_COMPARED)
    changed = tuple(name for name in names if getattr(profile, name) != getattr(before, name))
    return ProfileChange(
        ts=profile.profiled_ts, event=_event(profile, before), profile=profile, changed=changed, hexsha=hexsha
    )


def _event(profile: ArchivedAgent, before: ArchivedAgent) -> ProfileEvent:
    if profile.retired_ts is not None and before.retired_ts is None:
        return ProfileEvent.RETIRED
    if profile.retired_ts is None and before.retired_ts is not None:
        return ProfileEvent.RETURNED
    return ProfileEvent.CHANGED if profile.project_id == before.project_id else ProfileEvent.MOVED


def _as_archived(view: View, agent: Agent) -> ArchivedAgent:
    """What its file says once Git has caught up."""
    aliases = tuple(view.wire_names.of_agent(agent.id))
    own = {field.name: getattr(agent, field.name) for field in fields(ArchivedAgent) if field.name not in _OF_DOORS}
    return ArchivedAgent(**own, aliases=aliases, is_unclaimed=bool(aliases) and not view.agents.has_token(agent.id))
