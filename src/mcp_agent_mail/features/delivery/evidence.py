"""What answers prove: that mail was handed over to its recipient, and that the recipient got it.

Handed over is what stands in an answer whose last byte has left the process. Shown is what stood in an answer that its
client had read when a later call of the same agent began, on the same MCP session; without one by the same proof. It
has read an answer if it asks again on that connection, or ends it in order. What a call hands over
itself is not shown by it. A session that has acted as two agents of a project proves nothing: nobody can tell which of
them read. Nor does an answer that its client did not read to the end before it reset the connection. For a session that
this server does not know any more nothing vouches but its id, which a caller writes: what it got with a token is shown
by that token alone. (docs/adr/0150)

All of it is in memory and bounded: what is forgotten stays a step behind the truth, and is noted again when it is read
again.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import field
from weakref import WeakKeyDictionary, finalize

from mcp_agent_mail.core.concurrency.hearing import SentPromise, current_hearing
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId, token_hash
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import Credentials, find_credentials
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind
from mcp_agent_mail.features.delivery.marks import DeliveryMarks

MAX_PROOFS = 4_000
"""Agents by their proofs, without a session. Sessions are as many as the server keeps."""
MAX_ANSWERS_EACH = 32
"""Of one proof, the last that nothing has shown yet."""
MAX_COPIES = 100_000
"""Of all answers together that nothing has shown yet."""
UNPROVEN_PART = 4
"""One of so many of them is what callers at their word may take up: who proves nothing pushes out nothing proven."""
MAX_PROJECTS_EACH = 100
"""A session that acts in more of them proves nothing."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Answer:
    """What one answer handed over, while nothing has shown it. `read_s` is by `time.monotonic`; `token` is a digest, of
    what it was got with.
    """

    agent_id: AgentId
    message_ids: tuple[MessageId, ...]
    token: bytes | None
    read_s: float = math.inf


@dataclass(slots=True, kw_only=True, eq=False)
class _Proof:
    """What proves that a later call is by whoever got the answers: a session, or an agent by its token or word."""

    agents: dict[ProjectId, AgentId] = field(default_factory=dict)
    answers: deque[_Answer] = field(default_factory=deque)
    is_doubtful: bool = False


class DeliveryEvidence:
    """For use on the event loop. `elapsed` is what hearings measure by."""

    def __init__(
        self, marks: DeliveryMarks, *, elapsed: Callable[[], float] = time.monotonic, max_copies: int = MAX_COPIES
    ) -> None:
        self._marks = marks
        self._elapsed = elapsed
        self._max_copies = max_copies
        self._sessions: WeakKeyDictionary[object, _Proof] = WeakKeyDictionary()
        self._others: OrderedDict[tuple[AgentId, bytes | None], _Proof] = OrderedDict()
        self._answers: dict[bool, dict[_Answer, _Proof]] = {True: {}, False: {}}
        """Those that nothing has shown, oldest first: got with a token, and at a word."""
        self._copies = {True: 0, False: 0}
        self._ended: deque[_Proof] = deque()
        """Of sessions that are no more. Whatever thread collects them says so."""

    def note_handed(self, caller: Caller, agent: Agent, message_ids: Iterable[MessageId]) -> None:
        """The answer of the running call has the agent's own copies of these in it, which have been delivered: they are
        handed over once it is sent, if it is the agent's that calls.
        """
        credentials = find_credentials()
        if credentials is None or not _is_recipient(caller, agent.id, credentials):
            return
        proof = self._proof(agent.id, credentials)
        if _session(credentials) is not None:
            self._acts_as_one(proof, agent)
        fresh = self._marks.without_shown(agent.id, message_ids)
        if not fresh:
            return
        answer = _Answer(agent_id=agent.id, message_ids=fresh, token=_token_digest(credentials))
        current_hearing().once_sent(
            SentPromise(
                sent=lambda: self._handed(proof, answer),
                read=lambda: self._read(answer),
                unread=lambda: self._forget(answer),
            )
        )

    def note_acting(self, agent: Agent) -> None:
        """The running call is this agent's: proven, or at its word where that counts."""
        credentials = find_credentials()
        if credentials is None or not (credentials.in_arguments or _token(credentials)):
            return
        proof = self._proof(agent.id, credentials)
        if _session(credentials) is not None and not self._acts_as_one(proof, agent):
            return
        began_s = current_hearing().began_s
        token, is_vouched = _token_digest(credentials), credentials.session is not None
        for answer in [one for one in proof.answers if one.agent_id == agent.id and one.read_s <= began_s]:
            if is_vouched or answer.token in (None, token):
                self._marks.note_shown(agent.id, answer.message_ids)
                self._forget(answer)

    def _acts_as_one(self, proof: _Proof, agent: Agent) -> bool:
        if not proof.is_doubtful:
            known = proof.agents.setdefault(agent.project_id, agent.id)
            proof.is_doubtful = known != agent.id or len(proof.agents) > MAX_PROJECTS_EACH
            if proof.is_doubtful:
                self._forget_all(proof)
        return not proof.is_doubtful

    def _proof(self, agent_id: AgentId, credentials: Credentials) -> _Proof:
        self._forget_ended()
        if (session := _session(credentials)) is not None:
            return self._sessions.get(session) or self._new_proof(session)
        key = (agent_id, _token_digest(credentials))
        proof = self._others.setdefault(key, _Proof())
        self._others.move_to_end(key)
        if len(self._others) > MAX_PROOFS:
            _, oldest = self._others.popitem(last=False)
            self._forget_all(oldest)
        return proof

    def _new_proof(self, session: object) -> _Proof:
        proof = self._sessions[session] = _Proof()
        finalize(session, self._ended.append, proof).atexit = False
        return proof

    def _forget_ended(self) -> None:
        while self._ended:
            self._forget_all(self._ended.popleft())

    def _handed(self, proof: _Proof, answer: _Answer) -> None:
        self._marks.note_handed(answer.agent_id, answer.message_ids)
        if proof.is_doubtful:
            return
        is_proven = answer.token is not None
        proof.answers.append(answer)
        self._answers[is_proven][answer] = proof
        self._copies[is_proven] += len(answer.message_ids)
        if len(proof.answers) > MAX_ANSWERS_EACH:
            self._forget(proof.answers[0])
        most = self._max_copies if is_proven else self._max_copies // UNPROVEN_PART
        while self._copies[is_proven] > most:
            self._forget(next(iter(self._answers[is_proven])))

    def _read(self, answer: _Answer) -> None:
        answer.read_s = self._elapsed()

    def _forget_all(self, proof: _Proof) -> None:
        for answer in list(proof.answers):
            self._forget(answer)

    def _forget(self, answer: _Answer) -> None:
        is_proven = answer.token is not None
        proof = self._answers[is_proven].pop(answer, None)
        if proof is not None:
            proof.answers.remove(answer)
            self._copies[is_proven] -= len(answer.message_ids)
            answer.message_ids = ()  # Its connection may keep it for as long as it is open.


def _is_recipient(caller: Caller, agent_id: AgentId, credentials: Credentials) -> bool:
    """By its token, else at its word where a call is made as somebody: a resource is anybody's to read."""
    if caller.kind is CallerKind.AGENT:
        return caller.agent_id == agent_id
    return caller.kind is CallerKind.ANONYMOUS and credentials.in_arguments


def _session(credentials: Credentials) -> object | None:
    """A session goes on behind a restart, though the server does not know it any more."""
    return credentials.session or credentials.forgotten_session


def _token(credentials: Credentials) -> str | None:
    """Whatever was brought: one that proves nothing has been refused before anybody acts."""
    tokens = (credentials.token_argument, credentials.agent_token, credentials.bearer_token)
    return next((token.strip() for token in tokens if token and token.strip()), None)


def _token_digest(credentials: Credentials) -> bytes | None:
    token = _token(credentials)
    return None if token is None else token_hash(token)
