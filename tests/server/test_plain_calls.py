"""What plain calls share, where no route of them tells it already."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from starlette.types import Message

from mcp_agent_mail.core.concurrency.hearing import current_hearing
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.server.plain_calls import PlainCall, answer_call, is_json, parse_object
from mcp_agent_mail.server.rendering.formats import PLAIN


@pytest.mark.parametrize(
    ("content_type", "is_it"),
    [
        (b"application/json", True),
        (b"Application/JSON ; charset=utf-8", True),
        (b"application/json-patch+json", False),
        (b"text/plain", False),
        (b"", False),
    ],
)
def test_only_json_is_json(content_type: bytes, is_it: bool) -> None:
    assert is_json({b"content-type": content_type}) is is_it
    assert not is_json({})


def test_a_body_is_one_object_or_nothing() -> None:
    assert parse_object(b'{"a": 1}') == {"a": 1}
    assert parse_object(b" \n") == {}
    with pytest.raises(InvalidInput) as refused:
        parse_object(b"[]", hint="Look here.")
    assert refused.value.hint == "Look here."


@pytest.mark.parametrize(("is_shown", "not_heard"), [(True, []), (False, ["taken back"])])
async def test_what_is_not_shown_has_not_been_heard(is_shown: bool, not_heard: list[str]) -> None:
    undone: list[str] = []
    pending: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def run(arguments: Mapping[str, Json]) -> Json:
        current_hearing().unless_heard(lambda: undone.append("taken back"))
        return dict(arguments)

    async def receive() -> Message:
        return pending.pop() if pending else {"type": "http.request"}

    async def send(message: Message) -> None:
        pass

    call = PlainCall(title="grant", parse=parse_object, run=run, output=PLAIN)
    await answer_call(call, {"type": "http"}, receive, send, is_shown=is_shown)

    assert undone == not_heard
