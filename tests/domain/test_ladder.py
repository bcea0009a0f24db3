from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.ladder import ENDS, HELD, CopyProgress, LadderStep

UNREAD = [LadderStep.DELIVERED, LadderStep.HANDED_OVER, LadderStep.SHOWN]
READ = [LadderStep.READ, LadderStep.ACKNOWLEDGED, LadderStep.ANSWERED]


def progress(*steps: LadderStep) -> CopyProgress:
    return CopyProgress(steps={step: Micros(at) for at, step in enumerate(steps, 1)})


@pytest.mark.parametrize("number", range(1, 7))
def test_the_status_is_the_highest_step_however_the_steps_came(number: int) -> None:
    reached = [*UNREAD, *READ][:number]

    assert progress(*reached).status == reached[-1].value
    assert progress(*reversed(reached)).status == reached[-1].value


def test_a_copy_without_a_step_is_held() -> None:
    assert progress().status == HELD


@pytest.mark.parametrize("end", ENDS)
def test_an_end_counts_only_while_the_copy_is_unread(end: LadderStep) -> None:
    assert progress(*UNREAD, end).status == end.value
    for step in READ:
        assert progress(*UNREAD, step, end).status == step.value


def test_an_answer_to_a_copy_that_had_expired_stands_above_its_end_and_a_later_withdrawal() -> None:
    steps = (LadderStep.DELIVERED, LadderStep.EXPIRED, LadderStep.READ, LadderStep.ANSWERED, LadderStep.WITHDRAWN)

    answered = progress(*steps)

    assert answered.status == "answered"
    assert list(answered.in_order) == [
        LadderStep.DELIVERED, LadderStep.READ, LadderStep.ANSWERED, LadderStep.EXPIRED, LadderStep.WITHDRAWN,
    ]  # fmt: skip


def test_of_two_ends_the_withdrawal_counts() -> None:
    assert progress(LadderStep.DELIVERED, LadderStep.EXPIRED, LadderStep.WITHDRAWN).status == "withdrawn"
