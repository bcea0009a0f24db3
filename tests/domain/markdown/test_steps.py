"""So many steps are taken, and one more is refused."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.markdown.steps import Steps, TooManySteps


def test_all_steps_are_taken_and_one_more_is_refused() -> None:
    steps = Steps(3)
    steps.take()
    steps.take(2)

    with pytest.raises(TooManySteps, match="3 together"):
        steps.take()
