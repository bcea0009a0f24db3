"""A `subscriptions/listen` whose stream breaks: what its client hears of that."""

from __future__ import annotations

import json
from typing import Any

from mcp_agent_mail.cli.stdio.listen_stream import Listening

META = {"io.modelcontextprotocol/subscriptionId": "listen-1"}
URIS = ["resource://inbox/RedStone", "resource://message/7"]
ACKNOWLEDGED = {
    "jsonrpc": "2.0",
    "method": "notifications/subscriptions/acknowledged",
    "params": {"notifications": {"resourceSubscriptions": URIS}, "_meta": META},
}
UPDATED = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": URIS[1], "_meta": META}}
RESULT = {"jsonrpc": "2.0", "id": "listen-1", "result": {"_meta": META}}


def passed(listening: Listening, *messages: dict[str, Any]) -> list[Any]:
    return [json.loads(line) for line in listening.pass_on(json.dumps(message).encode() for message in messages)]


def test_a_stream_goes_through_as_it_is_and_its_result_ends_it() -> None:
    listening = Listening()

    assert passed(listening, ACKNOWLEDGED, UPDATED) == [ACKNOWLEDGED, UPDATED]
    assert not listening.is_answered
    assert passed(listening, RESULT) == [RESULT]
    assert listening.is_answered


def test_one_that_broke_off_is_asked_for_again_and_then_all_may_have_changed() -> None:
    listening = Listening()
    passed(listening, ACKNOWLEDGED)

    assert listening.may_go_on()
    told = passed(listening, ACKNOWLEDGED, UPDATED)

    assert [(one["method"], one["params"]["uri"]) for one in told] == [
        ("notifications/resources/updated", uri) for uri in [*URIS, URIS[1]]
    ]
    assert all(one["params"]["_meta"] == META for one in told)


def test_one_that_was_not_acknowledged_since_is_not_asked_for_for_ever() -> None:
    listening = Listening()
    assert not listening.may_go_on()

    passed(listening, ACKNOWLEDGED)

    assert [listening.may_go_on(), listening.may_go_on()] == [True, False]
