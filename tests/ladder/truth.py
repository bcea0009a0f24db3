"""The recipient's truth: what its process really got, called and did, which no sender's view may be above.

A step of a copy *may* be there as soon as what it tells of may have happened, and *must* be once it certainly has:
what an answer confirmed. Evidence may come late and may be lost by a kill, so of it nothing must be there.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.ladder.wire import Pending

DELIVERED, HANDED, SHOWN = "delivered", "handed_over", "shown"
READ, ACKED, ANSWERED = "read", "acknowledged", "answered"
REFUSED, EXPIRED, WITHDRAWN = "refused", "expired", "withdrawn"
RANKS = {
    "held": 0,
    DELIVERED: 1,
    HANDED: 2,
    SHOWN: 3,
    REFUSED: 4,
    EXPIRED: 4,
    WITHDRAWN: 5,
    READ: 6,
    ACKED: 7,
    ANSWERED: 8,
}
LASTING = (READ, ACKED, ANSWERED)

Proof = Hashable


@dataclass(slots=True)
class Copy:
    """One recipient's, of one message. `seen` are the steps that its sender has been shown, each with its time."""

    message_id: int
    agent: str
    kind: str
    may: set[str] = field(default_factory=set)
    must: set[str] = field(default_factory=set)
    valid_until: int | None = None
    status: str = "held"
    seen: dict[str, str] = field(default_factory=dict)

    @property
    def was_delivered(self) -> bool:
        return DELIVERED in self.may


@dataclass(slots=True, eq=False)
class _Given:
    """An answer that may have mail for its recipient in it."""

    agent: str
    proof: Proof
    pending: Pending
    got: frozenset[int] | None = None
    looks_left: int = 20
    """Once its connection is gone: what the kernel takes of it then it takes soon."""

    @property
    def is_over(self) -> bool:
        self.looks_left -= self.pending.wire.lost
        return self.got is not None or not self.looks_left


@dataclass(slots=True)
class Truth:
    copies: dict[tuple[int, str], Copy] = field(default_factory=dict)
    senders: dict[int, str] = field(default_factory=dict)
    _given: list[_Given] = field(default_factory=list)
    _got: dict[Proof, dict[str, set[int]]] = field(default_factory=dict)
    _acted: dict[tuple[Proof, str], set[str]] = field(default_factory=dict)
    """Which agents of a project a session has certainly acted as."""

    def of(self, agent: str) -> Iterator[Copy]:
        return (copy for copy in self.copies.values() if copy.agent == agent)

    def delivered_to(self, agent: str) -> frozenset[int]:
        return frozenset(copy.message_id for copy in self.of(agent) if copy.was_delivered)

    def sent(self, message_id: int, sender: str, copies: Iterable[Copy]) -> None:
        self.senders[message_id] = sender
        for copy in copies:
            self.copies.setdefault((message_id, copy.agent), copy)

    def calls(self, agent: str, project: str, proof: Proof) -> None:
        """A call as the agent begins: of what it got by this proof, all is shown to it from now on."""
        if self._is_doubtful(proof, project, agent):
            return
        for message_id in self._got.get(proof, {}).get(agent, ()):
            self.may_have(message_id, agent, SHOWN)

    def acted(self, agent: str, project: str, proof: Proof) -> None:
        """A call as the agent was answered: if it was by a session, that has acted as it."""
        self._acted.setdefault((proof, project), set()).add(agent)
        if len(self._acted[proof, project]) > 1:
            self._got.pop(proof, None)

    def restarted(self) -> None:
        """The server knows nothing any more of whom a session has acted as (docs/adr/0150)."""
        self._acted.clear()

    def _is_doubtful(self, proof: Proof, project: str, agent: str) -> bool:
        return (
            isinstance(proof, tuple)
            and proof[0] == "session"
            and not self._acted.get((proof, project), set()) <= {agent}
        )

    def gives(self, agent: str, proof: Proof, pending: Pending) -> None:
        """An answer to the agent has been asked for, with mail in it if there is some."""
        self._given.append(_Given(agent, proof, pending))

    def look(self) -> None:
        """See what has come of the answers under way."""
        for given in self._given:
            if (answer := given.pending.answer) is not None:
                given.got = frozenset(ids_in(answer.value)) if answer.status == 200 else frozenset()
                self._got.setdefault(given.proof, {}).setdefault(given.agent, set()).update(given.got)
            for message_id in given.got if given.got is not None else self._that_left(given):
                self.may_have(message_id, given.agent, HANDED)
        self._given = [given for given in self._given if not given.is_over]

    def _that_left(self, given: _Given) -> Iterable[int]:
        """Where nobody sees what left the process it may have been anything."""
        if given.pending.wire.taken is None:
            return self.delivered_to(given.agent)
        answer = given.pending.answer_that_left
        return ids_in(answer.value) if answer is not None and answer.status == 200 else ()

    def may_have(self, message_id: int, agent: str, *steps: str) -> None:
        if (copy := self.copies.get((message_id, agent))) is not None:
            copy.may.update(steps)

    def must_have(self, message_id: int, agent: str, *steps: str) -> None:
        self.may_have(message_id, agent, *steps)
        if (copy := self.copies.get((message_id, agent))) is not None:
            copy.must.update(steps)


def ids_in(value: Any) -> Iterator[int]:
    """Of all messages in an answer, however deep."""
    if isinstance(value, dict):
        if "subject" in value and isinstance(value.get("id"), int):
            yield value["id"]
        for name, one in value.items():
            # What a resource holds, or a tool says to a client that reads no structure.
            is_json = name == "text" and isinstance(one, str) and one[:1] in "{["
            yield from ids_in(json.loads(one) if is_json else one)
    elif isinstance(value, list):
        for one in value:
            yield from ids_in(one)
