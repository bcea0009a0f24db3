"""What an archive says it is, at one of its commits."""

from __future__ import annotations

import json
import os

from mcp_agent_mail.archive.repository import READ_UNASKED, ArchiveRepository, GitContentTooLarge
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE
from mcp_agent_mail.domain.archive_format.versions import is_mail_name, version_in

_LIMIT_S = 3_600.0


class UnreadableArchiveFile(Conflict):
    """`archive.json` is missing, or is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveDescription:
    """`messages`: those that were sent in the project, tombstones too."""

    store_id: str
    slug: str
    human_key: str
    version: int
    messages: int


def describe(repository: ArchiveRepository, commit: str) -> ArchiveDescription:
    """Of a commit that is there. Raises UnreadableArchiveFile; GitFailed where Git cannot tell."""
    blob = repository.blobs_at(commit, [ARCHIVE_FILE])[0]
    if blob is None:
        raise _unreadable(repository, commit)
    try:
        content = repository.content(blob, READ_UNASKED)
        fields = json.loads(content)
        project = fields["project"]
        names = [fields["store_id"], project["slug"], project["human_key"]]
        version = version_in(content)
    except (ValueError, KeyError, TypeError, RecursionError, GitContentTooLarge) as wrong:
        raise _unreadable(repository, commit) from wrong
    if not all(isinstance(name, str) for name in names):
        raise _unreadable(repository, commit)
    store_id, slug, human_key = names
    return ArchiveDescription(
        store_id=store_id,
        slug=slug,
        human_key=human_key,
        version=version,
        messages=_count_messages(repository, commit),
    )


def _count_messages(repository: ArchiveRepository, commit: str) -> int:
    listing = ("ls-tree", "-r", "-z", "--name-only", commit, "--", "messages")
    paths = repository.records(*listing, timeout_s=_LIMIT_S)
    return sum(is_mail_name(os.fsencode(path.rpartition("/")[2])) for path in paths)


def _unreadable(repository: ArchiveRepository, commit: str) -> UnreadableArchiveFile:
    return UnreadableArchiveFile(
        f"{repository.path} has no readable {ARCHIVE_FILE} at {commit}: it is no archive.",
        hint=f"Look at it: git -C {repository.path} log --stat -- {ARCHIVE_FILE}",
        data={"path": str(repository.path)},
    )
