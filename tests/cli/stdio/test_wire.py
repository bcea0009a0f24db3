"""Messages on their way between lines and HTTP."""

from __future__ import annotations

import json

import pytest

from mcp_agent_mail.cli.stdio.wire import Message, answer_line, header_value, modern_version, read_message, request_key


def test_a_messages_own_meta_tells_its_era() -> None:
    version = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}

    assert modern_version({"params": {"_meta": version}}) == "2026-07-28"
    others: list[Message] = [{}, {"params": []}, {"params": {"_meta": None}}]
    assert [modern_version(one) for one in others] == [None] * 3


def test_a_number_and_its_digits_are_two_requests() -> None:
    assert request_key(1) != request_key("1")


def test_what_http_would_change_goes_in_base64() -> None:
    assert header_value("resource://inbox/Red") == "resource://inbox/Red"
    assert header_value("ü").startswith("=?base64?")


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"[" * 100_000])
def test_what_is_no_object_is_an_empty_message(content: bytes) -> None:
    assert read_message(content) == {}


def test_a_refusal_below_the_protocol_becomes_one_of_the_protocol() -> None:
    answer = json.loads(answer_line(7, 401, b'{"detail": "No."}'))

    assert (answer["id"], "AGENT_MAIL_TOKEN" in answer["error"]["message"]) == (7, True)


def test_a_refusal_that_is_one_of_the_protocol_already_says_what_to_set_too() -> None:
    content = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "No."}, "detail": "No."}'

    answer = json.loads(answer_line(7, 401, content))

    assert (answer["id"], list(answer)) == (7, ["jsonrpc", "id", "error"])
    assert answer["error"]["message"].startswith("No. Set AGENT_MAIL_TOKEN")
