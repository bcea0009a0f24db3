"""What a commit changed of messages and of their copies, and which resources that concerns.

A resource concerns whoever subscribed to it; whether they may still read it is asked when they are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId


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


def concerns(change: CopyChange, watched: Watched) -> bool | None:
    """Whether a change of the same key changes what is shown; None: only if the message is part of the project's mail,
    which the store knows.
    """
    if watched.key.kind is WatchedKind.MAILBOX:
        return True
    is_own = change.agent_id is not None and change.agent_id == watched.reader
    if watched.key.kind is WatchedKind.MESSAGE:
        return change.is_open or is_own
    if change.project_id is not None:
        return change.project_id == watched.project_id
    return None if change.is_open else False
