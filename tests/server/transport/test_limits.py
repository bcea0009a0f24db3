"""What is read of a request's body, and what is refused before anything parses it."""

from __future__ import annotations

import json

import pytest
from starlette.types import Message, Receive

from mcp_agent_mail.server.transport.limits import (
    MAX_BODY_BYTES,
    MAX_VALUES,
    BodyTooLarge,
    ClientLeft,
    TooManyValues,
    declared_too_large,
    read_body,
    replay,
)

LEFT: Message = {"type": "http.disconnect"}


def receiving(*pieces: bytes, leaves: bool = False) -> Receive:
    """A client that sends `pieces`, and goes without the rest when it `leaves`."""
    messages: list[Message] = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    if not leaves:
        messages[-1]["more_body"] = False
    waiting = iter([*messages, LEFT])

    async def receive() -> Message:
        return next(waiting)

    return receive


@pytest.mark.parametrize("pieces", [(b"",), (b'{"a": 1}',), (b'{"a"', b"", b": 1}"), (b" " * MAX_BODY_BYTES,)])
async def test_a_body_is_read_whole(pieces: tuple[bytes, ...]) -> None:
    assert await read_body(receiving(*pieces)) == b"".join(pieces)


async def test_a_body_that_comes_without_anything_is_empty() -> None:
    async def receive() -> Message:
        return {"type": "http.request"}

    assert await read_body(receive) == b""


@pytest.mark.parametrize("pieces", [(b" " * (MAX_BODY_BYTES + 1),), (b" " * MAX_BODY_BYTES, b" ")])
async def test_a_body_over_the_bound_is_refused_in_one_piece_and_in_many(pieces: tuple[bytes, ...]) -> None:
    with pytest.raises(BodyTooLarge):
        await read_body(receiving(*pieces))


async def test_of_a_body_that_never_ends_no_more_than_the_bound_is_kept() -> None:
    asked = 0

    async def receive() -> Message:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b" " * 1_048_576, "more_body": True}

    with pytest.raises(BodyTooLarge):
        await read_body(receive)

    assert asked == 5


@pytest.mark.parametrize("pieces", [(), (b'{"a"',)])
async def test_a_client_that_leaves_has_sent_no_request(pieces: tuple[bytes, ...]) -> None:
    with pytest.raises(ClientLeft):
        await read_body(receiving(*pieces, leaves=True))


MANY = b"[" + b"0," * MAX_VALUES + b"0]"


@pytest.mark.parametrize("body", [MANY, b"[" * MAX_VALUES * 3, b"[" + b'"",' * MAX_VALUES * 3 + b"0]"])
@pytest.mark.parametrize("in_two", [False, True])
async def test_a_body_of_too_many_values_is_refused(body: bytes, in_two: bool) -> None:
    pieces = (body[:100], body[100:]) if in_two else (body,)

    with pytest.raises(TooManyValues):
        await read_body(receiving(*pieces))


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"text": ",[{" * MAX_VALUES}).encode(),
        json.dumps({"text": '\\"' * MAX_VALUES + ",[" * MAX_VALUES}).encode(),
        b"[" + b"0," * (MAX_VALUES // 2) + b" " * 3 * MAX_VALUES + b"0]",
    ],
    ids=["brackets in a text", "quotes in a text", "blanks"],
)
async def test_what_a_text_holds_is_no_value(body: bytes) -> None:
    assert await read_body(receiving(body)) == body


def test_a_length_that_is_declared_is_believed() -> None:
    assert declared_too_large({b"content-length": str(MAX_BODY_BYTES + 1).encode()})
    assert not declared_too_large({b"content-length": str(MAX_BODY_BYTES).encode()})
    assert not declared_too_large({b"content-length": b"-1"})
    assert declared_too_large({b"content-length": b"9" * 5_000})
    assert not declared_too_large({b"content-length": b"0" * 5_000})
    assert not declared_too_large({})


async def test_a_body_that_was_read_comes_once_more_and_then_the_connection_goes_on() -> None:
    receive = replay(b"{}", receiving(leaves=True))

    assert await receive() == {"type": "http.request", "body": b"{}", "more_body": False}
    assert await receive() == LEFT
