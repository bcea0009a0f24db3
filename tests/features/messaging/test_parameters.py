from __future__ import annotations

import pytest

from mcp_agent_mail.features.messaging.parameters import EitherIdRequired, require_one


def test_exactly_one_of_two_parameters_passes() -> None:
    require_one("read_mail", message_id=7, thread_id=None)
    require_one("read_mail", message_id=None, thread_id="TKT-1")


@pytest.mark.parametrize(("message_id", "came"), [(None, "none"), (7, "both")])
def test_none_and_both_are_refused_with_what_is_accepted(message_id: int | None, came: str) -> None:
    with pytest.raises(EitherIdRequired) as refused:
        require_one("read_mail", message_id=message_id, thread_id=None if message_id is None else "TKT-1")

    assert refused.value.message == f"read_mail takes one of message_id and thread_id; {came} came."
    assert refused.value.hint == "Give message_id or thread_id."
    assert refused.value.data == {"parameter": "message_id", "one_of": ["message_id", "thread_id"]}
