from __future__ import annotations

import pytest

from mcp_agent_mail.features.attachments.staged_limit import StagedLimit, TooMuchStaged


def test_calls_together_stage_so_much_and_the_first_of_them_always_goes_on() -> None:
    budget = StagedLimit(100)
    budget.take("first", 60)
    budget.take("second", 40)

    with pytest.raises(TooMuchStaged) as refused:
        budget.take("second", 1)
    budget.take("first", 30)

    assert refused.value.data["retry_after_s"] > 0
    assert budget.bytes == 130


def test_what_is_given_back_is_there_for_others() -> None:
    budget = StagedLimit(100)
    budget.take("first", 100)
    budget.give_back("first")
    budget.give_back("first")
    budget.take("second", 60)

    budget.take("third", 40)

    assert budget.bytes == 100


def test_one_call_alone_has_no_bound_but_its_own() -> None:
    budget = StagedLimit(100)

    budget.take("only", 1_000)

    assert budget.bytes == 1_000
