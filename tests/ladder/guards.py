"""Evidence that says too much, each in a way of its own: with any of it, histories must find faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest

import mcp_agent_mail.bootstrap as wiring
from mcp_agent_mail.core.concurrency.hearing import current_hearing
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


class ShownByCallsBegunBefore(DeliveryEvidence):
    """A call that was sent ahead of an answer shows it."""

    def note_acting(self, agent: Agent) -> None:
        hearing, now_s = current_hearing(), self._elapsed
        if hasattr(hearing, "_output"):
            hearing.began_s = now_s()  # type: ignore[misc]  # a request's own can be set
        super().note_acting(agent)


def _evidence(kind: type[DeliveryEvidence]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(wiring, "DeliveryEvidence", kind)


def _with_resets_unheard(patch: pytest.MonkeyPatch) -> None:
    """A client that resets its connection is believed to have read its answer."""
    patch.setattr(AnswerOutput, "ended", lambda self, *, is_reset: self.cut())  # noqa: ARG005


def _with_buffers_as_sent(patch: pytest.MonkeyPatch) -> None:
    """What lies in the transport's buffer is taken for sent."""

    def tell_sent(self: AnswerOutput, promises: Iterable[object]) -> None:
        self._under_way.extend(promises)  # type: ignore[arg-type]  # promises
        self._all_written()

    patch.setattr(AnswerOutput, "tell_sent", tell_sent)


GUARDS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "shown at hand-over": _evidence(ShownAtHandOver),
    "handed over before the socket took it": _evidence(HandedBeforeSent),
    "handed over in a buffer": _with_buffers_as_sent,
    "resets unheard": _with_resets_unheard,
    "sessions of two believed": _evidence(ShownByWhateverCalls),
    "shown by calls begun before": _evidence(ShownByCallsBegunBefore),
}


@contextmanager
def without(guard: str) -> Iterator[None]:
    """Inside, servers are made without it."""
    with pytest.MonkeyPatch.context() as patch:
        GUARDS[guard](patch)
        yield
