"""Who changed a message in a commit: whoever decided on a copy that was held, the sender who withdrew it, and nobody,
where it was purged or has expired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

from mcp_agent_mail.archive.reading.branch import BranchCommit
from mcp_agent_mail.archive.repository import GitContentTooLarge
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedMail
from mcp_agent_mail.domain.archive_format.parse.files import UnreadableArtifact, most_bytes_of, parse_file
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION, OLDEST_VERSION
from mcp_agent_mail.features.recovery.passes.commit_events import copies_of
from mcp_agent_mail.features.recovery.people import People
from mcp_agent_mail.store.rebuild.database import RebuiltDatabase

Read = Callable[[str, int], bytes]
"""A content of the archive, by what Git calls it; GitContentTooLarge for more than so many bytes."""


class ChangesOfMail:
    """What became of messages in one commit of a project's archive."""

    def __init__(self, database: RebuiltDatabase, people: People, read: Read) -> None:
        self._database = database
        self._people = people
        self._read = read

    def deciders(self, project_id: ProjectId, commit: BranchCommit, message_id: MessageId) -> list[AgentId | None]:
        """Each who decided in this commit; None first where it was purged or expired in it. Empty: nobody did."""
        if not self._database.has_changed(message_id):
            return []
        paths = copies_of(commit, message_id)
        approving = list(self._approving(project_id, paths & commit.added, message_id))
        sent = next((path for path in paths if _box(path) == "outbox"), None)
        if sent is None:
            return list(approving)
        said = self._said(commit.hexsha, sent)
        before = [] if sent in commit.added or not commit.parents else self._said(commit.parents[0], sent)
        new = (Counter(said) - Counter(before)).elements()
        return [*new, *(one for one in approving if one not in said)]

    def _said(self, commit: str, path: str) -> list[AgentId | None]:
        """Who had decided until that commit, as the sender's copy says."""
        mail = self._mail(commit, path)
        if mail is None:
            return []
        held = (one for one in mail.recipients if one.held_code is not None)
        decided = [one.agent_id for one in held if one.refused_ts is not None or one.delivery_seq is not None]
        withdrew = [] if mail.terms.withdrawn_ts is None else [mail.sender_id]
        by_server = (mail.purged_ts is not None, any(one.expired_ts is not None for one in mail.recipients))
        return [*(None for has_happened in by_server if has_happened), *withdrew, *decided]

    def _approving(self, project_id: ProjectId, added: set[str], message_id: MessageId) -> Iterator[AgentId]:
        """A copy that was held comes to its inbox with the word of whose it is."""
        for path in sorted(added):
            agent_id = self._people.named(project_id, path.split("/")[1]) if _box(path) == "inbox" else None
            if agent_id is not None and self._database.was_held(message_id, agent_id):
                yield agent_id

    def _mail(self, commit: str, path: str) -> ArchivedMail | None:
        """The file as the commit has it; None where a person changed it."""
        try:
            content = self._read(f"{commit}:{path}", most_bytes_of(path) or 0)
        except GitContentTooLarge:
            return None
        for version in (FORMAT_VERSION, OLDEST_VERSION):
            with suppress(UnreadableArtifact):
                found = parse_file(path, content, version)
                return found if isinstance(found, ArchivedMail) else None
        return None


def _box(path: str) -> str:
    return path.split("/")[2] if path.startswith("agents/") else ""
