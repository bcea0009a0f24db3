"""What is posted to MCP: read once, as the SDK reads it, or refused with what to send."""

from __future__ import annotations

import json
import math

import pytest

from mcp_agent_mail.server.transport.posted_message import MAX_BESIDE_BYTES, MessageRefused, is_one_object, read_message

JSON = {b"content-type": b"application/json; charset=utf-8"}
LONG = "x" * MAX_BESIDE_BYTES


def message(**parts: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", **parts}).encode()


def refused(body: bytes, headers: dict[bytes, bytes] = JSON) -> MessageRefused:
    with pytest.raises(MessageRefused) as refused:
        read_message(headers, body)
    return refused.value


def test_a_message_is_read_as_the_sdk_reads_it() -> None:
    last = read_message(JSON, b'\n{"jsonrpc": "2.0", "id": 4, "id": 5, "method": "m"}')
    number = read_message(JSON, b'{"jsonrpc": "2.0", "id": 5, "method": "m", "params": {"x": NaN}}')["params"]["x"]

    assert last == {"jsonrpc": "2.0", "id": 5, "method": "m"}
    assert math.isnan(number)


@pytest.mark.parametrize("body", [b"{}", b' \r\n\t{"a": 1}'])
def test_an_object_may_stand_behind_blanks(body: bytes) -> None:
    assert is_one_object(body)


@pytest.mark.parametrize("body", [b"", b"[{}]", b"0", b"\xff\xfe{\0}\0", b"{\0}", b"\xef\xbb\xbf{}"])
def test_a_batch_and_other_encodings_are_no_object(body: bytes) -> None:
    assert not is_one_object(body)
    assert (refused(body).status, refused(body).value["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize(
    "body",
    [b"{", b"{}x", b'{"a": "\xff"}', b'{"a": "\\ud800"}', b'{"a": ' + b"[" * 600 + b"]" * 600 + b"}"],
    ids=["cut off", "more behind it", "no UTF-8", "half a letter", "too deep"],
)
def test_what_cannot_be_read_is_told_where_and_is_nothing_in_either_era(body: bytes) -> None:
    answer = refused(body)

    assert (answer.status, answer.value["id"], answer.value["error"]["code"]) == (400, None, -32700)
    assert "Parse error: " in answer.value["error"]["message"]
    assert "line 1" in answer.value["error"]["message"]


def test_what_is_no_json_rpc_is_told_what_to_send() -> None:
    assert "tools/call" in refused(b'{"tool": "echo", "text": "\\"jsonrpc\\""}').value["detail"]
    assert refused(message(), {b"content-type": b"text/plain"}).value == {
        "detail": "Send Content-Type: application/json."
    }


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"params": ["health_check"]}, "params is an object"),
        ({"params": "x"}, "params is an object"),
        ({"params": []}, "params is an object"),
        ({"params": 0}, "params is an object"),
        ({"method": 5}, "method is a text"),
        ({"method": None}, "method is a text"),
        ({"jsonrpc": "1.0"}, 'jsonrpc is "2.0"'),
        ({"jsonrpc": 2.0}, 'jsonrpc is "2.0"'),
        ({"jsonrpc": None, "result": {}}, 'jsonrpc is "2.0"'),
        ({"method": "notifications/cancelled", "params": [1]}, "params is an object"),
    ],
)
def test_an_envelope_that_is_wrong_is_told_what_is_and_what_to_send(parts: dict[str, object], said: str) -> None:
    answer = refused(message(**parts))

    assert (answer.status, answer.value["id"], answer.value["error"]["code"]) == (400, 1, -32600)
    assert answer.value["error"]["message"].startswith(said)
    assert '"method": "tools/call"' in answer.value["error"]["message"]
    assert len(answer.value["error"]["message"]) < 300


def test_a_message_that_asks_nothing_and_answers_nothing_is_none() -> None:
    assert refused(b'{"jsonrpc": "2.0", "id": 1}').value["error"]["message"].startswith("It has no method.")


@pytest.mark.parametrize(
    ("given", "repeated"),
    [("a", "a"), ("", ""), (-(1 << 53), -(1 << 53)), ((1 << 53) + 1, None), (1.0, None), (True, None), ([], None)],
)
def test_a_refusal_repeats_the_id_that_its_sender_knows_again(given: object, repeated: object) -> None:
    answer = refused(message(id=given, params=[]))

    assert answer.value["id"] == repeated
    assert type(answer.value["id"]) is type(repeated)


@pytest.mark.parametrize("given", [None, {}, [], 1.5, 1.0, True])
@pytest.mark.parametrize("method", ["tools/call", "ping", "x"])
def test_an_id_that_is_none_is_refused(method: str, given: object) -> None:
    answer = refused(message(id=given, method=method))

    assert (answer.status, answer.value["id"], answer.value["error"]["code"]) == (400, None, -32600)
    assert answer.value["error"]["message"].startswith("An id is a text or a whole number.")


@pytest.mark.parametrize("method", ["tools/call", "resources/read"])
def test_what_wants_an_answer_and_has_no_id_is_refused(method: str) -> None:
    answer = refused(json.dumps({"jsonrpc": "2.0", "method": method, "params": {}}).encode())

    assert (answer.status, answer.value["error"]["code"]) == (400, -32600)
    assert "give an id" in answer.value["error"]["message"]


@pytest.mark.parametrize(
    "given",
    [
        {"method": "notifications/initialized"},
        {"method": "notifications/cancelled", "id": None, "params": {"requestId": 1}},
        {"method": "x"},
        {"id": 1, "result": {}},
        {"id": None, "error": {"code": 1, "message": "m"}},
        {"id": 1.5, "result": {}, "method": None},
        {"id": 1, "method": "ping", "params": None},
        {"id": 1 << 80, "method": "ping"},
    ],
)
def test_notifications_answers_and_requests_are_let_through_as_they_are(given: dict[str, object]) -> None:
    whole = {"jsonrpc": "2.0", **given}

    assert read_message(JSON, json.dumps(whole).encode()) == whole


def test_a_version_that_is_not_served_is_told_those_that_are() -> None:
    answer = refused(message(), {**JSON, b"mcp-protocol-version": b"1999-01-01"})

    assert (answer.status, answer.value["id"], answer.value["error"]["code"]) == (400, 1, -32022)


@pytest.mark.parametrize(
    "params",
    [{"name": "echo", "_meta": {"a": LONG}}, [LONG], {"name": "echo", "_meta": {"a": LONG, "b": float("nan")}}],
    ids=["_meta", "a list", "no number"],
)
def test_what_stands_beside_the_arguments_is_bounded(params: object) -> None:
    assert refused(message(params=params)).status == 413


def test_it_is_measured_without_them() -> None:
    large = {"name": "echo", "arguments": {"text": LONG, "number": 1 << 80}}

    assert read_message(JSON, message(params=large, id=1 << 80))["params"] == large


def test_what_is_nested_deep_is_measured_too() -> None:
    deep = (
        b'{"jsonrpc": "2.0", "params": {"_meta": ' + b"[" * 190 + b"]" * 190 + b', "name": "' + LONG.encode() + b'"}}'
    )

    assert refused(deep).status == 413


def test_a_body_within_the_bound_is_not_weighed_by_what_its_numbers_become() -> None:
    body = b'{"jsonrpc": "2.0", "method": "m", "params": {"x": [' + b",".join([b"1e15"] * 12_000) + b"]}}"

    assert len(body) <= MAX_BESIDE_BYTES
    assert len(read_message(JSON, body)["params"]["x"]) == 12_000
