from __future__ import annotations

import itertools

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.guard.decision import GuardedLease, GuardOutcome, GuardRules, HeldPath, decide


def held(*, is_own_too: bool = False) -> HeldPath:
    holding = GuardedLease(
        id=1,
        agent="RedStone",
        path_pattern="a",
        is_folder=False,
        ignore_case=False,
        exclusive=True,
        reason="",
        expires_ts=Micros(1),
    )
    return HeldPath(path="a", holding=holding, is_own_too=is_own_too)


_HELD = {
    "nothing": (),
    "anothers": (held(),),
    "both's": (held(is_own_too=True),),
    "mixed": (held(is_own_too=True), held()),
}


@pytest.mark.parametrize(
    ("what", "agent", "blocks", "bypassed", "named"),
    list(itertools.product(_HELD, (None, "BlueLake"), (True, False), (True, False), (True, False))),
)
def test_every_case_of_the_decision(what: str, agent: str | None, blocks: bool, bypassed: bool, named: bool) -> None:
    action = decide(_HELD[what], agent, GuardRules(is_blocking=blocks, is_bypassed=bypassed, requires_name=named))

    if bypassed:
        expected = GuardOutcome.BYPASSED
    elif agent is None and named:
        expected = GuardOutcome.REFUSED
    elif what == "nothing":
        expected = GuardOutcome.PASSED
    elif agent is not None and blocks and what in ("anothers", "mixed"):
        expected = GuardOutcome.REFUSED
    else:
        expected = GuardOutcome.WARNED
    assert action is expected
