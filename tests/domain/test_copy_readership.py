from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.copy_readership import OpenEnds, may_know_of_copy, progress_beside
from mcp_agent_mail.domain.ladder import CopyProgress, LadderStep
from mcp_agent_mail.domain.messages import RecipientKind

DELIVERED = {LadderStep.DELIVERED: Micros(10), LadderStep.SHOWN: Micros(20)}


@pytest.mark.parametrize("kind", RecipientKind)
@pytest.mark.parametrize("is_own", [False, True])
def test_only_its_proven_sender_knows_of_a_copy_that_never_came(kind: RecipientKind, is_own: bool) -> None:
    for proven in (False, True):
        assert may_know_of_copy(kind, is_delivered=False, is_own=is_own, is_proven_sender=proven) is proven


def test_a_blind_copy_is_known_to_its_reader_and_the_proven_sender() -> None:
    def known(kind: RecipientKind, *, own: bool = False, proven: bool = False) -> bool:
        return may_know_of_copy(kind, is_delivered=True, is_own=own, is_proven_sender=proven)

    assert known(RecipientKind.TO)
    assert known(RecipientKind.CC)
    assert not known(RecipientKind.BCC)
    assert known(RecipientKind.BCC, own=True)
    assert known(RecipientKind.BCC, proven=True)


@pytest.mark.parametrize(
    ("valid_until", "withdrawn", "status"),
    [
        (None, None, "shown"),
        (Micros(101), None, "shown"),
        (Micros(100), None, "expired"),
        (None, Micros(60), "withdrawn"),
        (Micros(50), Micros(60), "withdrawn"),
    ],
)
def test_a_copy_that_ended_blindly_ends_for_others_as_it_would_have(
    valid_until: Micros | None, withdrawn: Micros | None, status: str
) -> None:
    real = CopyProgress(steps={**DELIVERED, LadderStep.WITHDRAWN: Micros(40)})

    shown = progress_beside(real, OpenEnds(valid_until=valid_until, withdrawn=withdrawn), Micros(100))

    assert shown.status == status
    assert shown.steps.items() >= DELIVERED.items()
    assert shown.steps.get(LadderStep.WITHDRAWN) == withdrawn


def test_what_would_have_been_withdrawn_before_its_time_has_not_expired() -> None:
    ends = OpenEnds(valid_until=Micros(70), withdrawn=Micros(60))

    assert LadderStep.EXPIRED not in progress_beside(CopyProgress(steps=DELIVERED), ends, Micros(100)).steps
