"""Whether mail would find an agent at its place: said from evidence, and from evidence alone.

Evidence of listening is a wait or a stream that stands open, or a client's hook that was heard within the window.
Registering and ordinary calls are activity: whoever made them may be gone since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project

BUSY_KNOWN_S = 3_600
"""So long the last word of a session that is busy stands: one tool may run for long and say nothing meanwhile. A client
that was killed says nothing either, so that it does not stand for ever.
"""


class ListeningVia(StrEnum):
    """By what mail would reach the agent, the fastest first."""

    WAIT = "wait"
    STREAM = "stream"
    HOOK = "hook"


class SessionEvent(StrEnum):
    """What a client's hook tells of its session. `tool` is told again and again while a turn runs."""

    START = "start"
    TURN = "turn"
    TOOL = "tool"
    IDLE = "idle"
    END = "end"


class SessionName(NamedTuple):
    """A session of an agent's client: what the client calls it, and whether it is heard with proof. What is heard with
    proof is another session than what is heard without, whatever both are called.
    """

    name: str
    is_proven: bool

    @property
    def hash(self) -> bytes:
        """For the store: names are the clients', of any length and of anything, and nobody needs to read them. Neither
        beginning begins the other, so no name of one kind is hashed as one of the other.
        """
        kind = b"proven\0" if self.is_proven else b"unproven\0"
        return hashlib.sha256(kind + self.name.encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSession:
    """One session of an agent's client. `busy_since`: when the turn, or the tool, began that it told of last; None
    while it is idle.
    """

    name: SessionName
    heard_ts: Micros
    busy_since: Micros | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """`busy_since` None: idle, or not known."""

    via: ListeningVia | None = None
    busy_since: Micros | None = None

    @property
    def is_listening(self) -> bool:
        return self.via is not None


ABSENT = Presence()
PresenceOf = Callable[[AgentId], Presence]
"""Looks up an agent as it is just now. Asked from any thread, and inside units of work too: it only reads."""


def nobody_listens(_: AgentId) -> Presence:
    """Where nothing is known of anybody."""
    return ABSENT


def is_gone(agent: Agent, project: Project) -> bool:
    """Whether no new mail comes for it: whatever stands open for it, it does not listen."""
    return agent.is_retired or project.is_archived


def presence_in(project: Project, agent: Agent, presence_of: PresenceOf) -> Presence:
    """As it is just now, by the rule that nobody who is gone listens."""
    return ABSENT if is_gone(agent, project) else presence_of(agent.id)


def after_event(
    before: ClientSession | None, name: SessionName, event: SessionEvent, now: Micros
) -> ClientSession | None:
    """The session once its hook has told `event`; None when it has ended.

    A turn begins anew, whatever was told before: a client that is interrupted does not tell that it is idle.
    """
    if event is SessionEvent.END:
        return None
    busy_since = None
    if event in (SessionEvent.TURN, SessionEvent.TOOL):
        busy_since = now
        if event is SessionEvent.TOOL and before is not None and before.busy_since is not None:
            busy_since = min(before.busy_since, now)
    return ClientSession(name=name, heard_ts=now, busy_since=busy_since)


def listening_until(session: ClientSession, window_s: int) -> Micros:
    """The instant from which the session counts no more as listening, unless it is heard again."""
    return Micros(session.heard_ts + window_s * SECOND)


def presence_of(sessions: Sequence[ClientSession], live: ListeningVia | None, now: Micros, window_s: int) -> Presence:
    """An agent's presence by its sessions, the one heard last at the end, and by what stands open (`live`).

    Busy is told by the sessions that were heard within the window, and without any by the one heard last. A clock that
    is set back prolongs no session by more than a window.
    """
    fresh = [one for one in sessions if _is_within(one, now, window_s)]
    via = live if live is not None or not fresh else ListeningVia.HOOK
    telling = fresh or [one for one in sessions[-1:] if _is_within(one, now, BUSY_KNOWN_S)]
    busy = [one.busy_since for one in telling if one.busy_since is not None]
    return Presence(via=via, busy_since=Micros(min(*busy, now)) if busy else None)


def _is_within(session: ClientSession, now: Micros, window_s: int) -> bool:
    return abs(now - session.heard_ts) < window_s * SECOND
