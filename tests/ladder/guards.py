"""Evidence that says too much, each in a way of its own: with any of it, histories must find faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest

import mcp_agent_mail.bootstrap as wiring
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.delivery.evidence import DeliveryEvidence, _Answer, _Proof
from mcp_agent_mail.server.transport.answers import AnswerOutput


class ShownAtHandOver(DeliveryEvidence):
    """What an answer hands over is taken for shown."""

    def _handed(self, proof: _Proof, answer: _Answer) -> None:
        super()._handed(proof, answer)
        self._marks.note_shown(answer.agent_id, answer.message_ids)


class HandedBeforeSent(DeliveryEvidence):
    """What is put into an answer is taken for sent."""

    def note_handed(self, caller: Caller, agent: Agent, message_ids: Iterable[MessageId]) -> None:
        found = tuple(message_ids)
        self._marks.note_handed(agent.id, found)
        super().note_handed(caller, agent, found)


class ShownByWhateverCalls(DeliveryEvidence):
    """A session that acts as two agents of a project is believed."""

    def _acts_as_one(self, proof: _Proof, agent: Agent) -> bool:  # noqa: ARG002  # whoever it is
        return True


def _evidence(kind: type[DeliveryEvidence]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(wiring, "DeliveryEvidence", kind)


def _with_sent_as_read(patch: pytest.MonkeyPatch) -> None:
    """Whoever has been sent an answer is taken to have read it."""
    all_written = AnswerOutput._all_written

    def written(self: AnswerOutput) -> None:
        promises = list(self._under_way)
        all_written(self)
        for promise in promises:
            promise.read()

    patch.setattr(AnswerOutput, "_all_written", written)


def _with_buffers_as_sent(patch: pytest.MonkeyPatch) -> None:
    """What lies in the transport's buffer is taken for sent."""

    def tell_sent(self: AnswerOutput, promises: Iterable[object]) -> None:
        self._under_way.extend(promises)  # type: ignore[arg-type]  # promises
        self._all_written()

    patch.setattr(AnswerOutput, "tell_sent", tell_sent)


def _with_asking_again_as_proof(patch: pytest.MonkeyPatch) -> None:
    """Whoever asks again has read what was before, though it resets the connection then."""
    disprove = AnswerOutput._disprove

    def disproved(self: AnswerOutput) -> None:
        self._believed = ()
        disprove(self)

    patch.setattr(AnswerOutput, "_disprove", disproved)


GUARDS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "shown at hand-over": _evidence(ShownAtHandOver),
    "handed over before the socket took it": _evidence(HandedBeforeSent),
    "handed over in a buffer": _with_buffers_as_sent,
    "read once it is sent": _with_sent_as_read,
    "read by whoever asks again": _with_asking_again_as_proof,
    "sessions of two believed": _evidence(ShownByWhateverCalls),
}


@contextmanager
def without(guard: str) -> Iterator[None]:
    """Inside, servers are made without it."""
    with pytest.MonkeyPatch.context() as patch:
        GUARDS[guard](patch)
        yield
