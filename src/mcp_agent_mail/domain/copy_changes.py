"""What a commit changed of messages and of their copies, and which resources that concerns; and what it changed beside
that a person who watches would see.

A resource concerns whoever subscribed to it; whether they may still read it is asked when they are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass


class CopyChange(NamedTuple):
    """With `agent_id` that agent's copy, once delivered, was delivered, read, acknowledged or ended. With `project_id`
    the message has come into that project's mail, or left it. With neither the message itself was withdrawn.

    `is_open`: whoever may read the message may know. Of a blind copy nobody may but the agent whose it is.
    """

    message_id: MessageId
    thread_id: str | None
    agent_id: AgentId | None
    project_id: ProjectId | None
    is_open: bool


class OversightChangeKind(StrEnum):
    """`held` is mail that waits for an approval, or waits no more; its number is the message's."""

    CONTACT = "contact"
    LEASE = "lease"
    HELD = "held"
    AGENT = "agent"


class OversightChange(NamedTuple):
    """`number` is that of the contact, the lease, the message or the agent; `project_id` is where it is seen."""

    kind: OversightChangeKind
    number: int
    project_id: ProjectId


class WatchedKind(StrEnum):
    MAILBOX = "mailbox"
    THREAD = "thread"
    MESSAGE = "message"


class WatchedKey(NamedTuple):
    """By which changes find who watches: `name` is an agent's id, a message's, or a thread's own."""

    kind: WatchedKind
    name: int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What a URI shows to one caller. `reader` is the agent that is proven to call; `listener` the one whose mailbox it
    is, where the caller is that agent. A thread is one project's.
    """

    key: WatchedKey
    project_id: ProjectId | None = None
    reader: AgentId | None = None
    listener: AgentId | None = None


def keys_of(change: CopyChange) -> Iterator[WatchedKey]:
    """What the change may concern. A thread that a reply started shows its root too, and has that one's number."""
    yield WatchedKey(WatchedKind.MESSAGE, change.message_id)
    yield WatchedKey(WatchedKind.THREAD, str(change.message_id))
    if change.thread_id is not None:
        yield WatchedKey(WatchedKind.THREAD, change.thread_id)
    if change.agent_id is not None:
        yield WatchedKey(WatchedKind.MAILBOX, change.agent_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What of one commit concerns one key, so that it is decided once for all who watch it and not for each of them.

    `anybody`: whoever reads it. `readers` are those who alone may know of more: of their own blind copies.
    `projects` are those whose mail a message of the thread came into, or left; those of `messages` the store knows.
    """

    anybody: bool = False
    readers: frozenset[AgentId] = frozenset()
    projects: frozenset[ProjectId] = frozenset()
    messages: frozenset[MessageId] = frozenset()


class ChangeReaders(StrEnum):
    """Who of those who read what is watched may know."""

    ALL = "all"
    READER = "reader"
    """The agent whose `Watched` it is, and nobody else who may read the same."""


def wider(before: ChangeReaders | None, audience: ChangeReaders) -> ChangeReaders:
    """Who may know, of two changes of the same."""
    return ChangeReaders.ALL if before is ChangeReaders.ALL else audience


def news_of(key: WatchedKey, changes: Iterable[CopyChange]) -> News:
    """Of changes that may concern the key."""
    if key.kind is WatchedKind.MAILBOX:
        return News(anybody=True)
    open_ones = [change for change in changes if change.is_open]
    if key.kind is WatchedKind.MESSAGE:
        readers = frozenset(change.agent_id for change in changes if not change.is_open and change.agent_id is not None)
        return News(anybody=bool(open_ones), readers=readers)
    return News(
        projects=frozenset(change.project_id for change in open_ones if change.project_id is not None),
        messages=frozenset(change.message_id for change in open_ones if change.project_id is None),
    )


def audience_of(news: News, watched: Watched) -> ChangeReaders | None:
    """Who may know, of those who see the same as `watched`; None: nobody. `projects` must be complete."""
    if news.anybody or (watched.project_id is not None and watched.project_id in news.projects):
        return ChangeReaders.ALL
    return ChangeReaders.READER if watched.reader is not None and watched.reader in news.readers else None
