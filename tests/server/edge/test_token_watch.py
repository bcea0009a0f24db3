"""What lasts longer than the token that opened it ends: its client counts as one that has left."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message, Receive

from mcp_agent_mail.server.edge.token_watch import LOOK_EVERY_S, BegunAnswer, TokenWatch

BODY: Message = {"type": "http.request", "body": b"{}", "more_body": False}
LEFT: Message = {"type": "http.disconnect"}
START: Message = {"type": "http.response.start", "status": 200, "headers": []}
END: Message = {"type": "http.response.body", "body": b""}


class Client:
    """Sends its body, then nothing until it `leaves`."""

    def __init__(self) -> None:
        self._has_sent = False
        self.leaves = asyncio.Event()

    async def receive(self) -> Message:
        if not self._has_sent:
            self._has_sent = True
            return BODY
        await self.leaves.wait()
        return LEFT


class Token:
    def __init__(self) -> None:
        self.is_live = True
        self.looks = 0
        self.looked = asyncio.Event()

    def __call__(self) -> bool:
        self.looks += 1
        self.looked.set()
        return self.is_live


async def heard(receive: Receive) -> Message:
    async with asyncio.timeout(20):
        return await receive()


def test_a_stream_ends_within_five_seconds() -> None:
    assert LOOK_EVERY_S <= 5.0


async def test_whoever_waits_hears_that_the_client_left_once_its_token_ended() -> None:
    token, client = Token(), Client()
    with TokenWatch(every_s=0.001).watching(token, client.receive) as receive:
        body = await heard(receive)
        waiting = asyncio.ensure_future(heard(receive))
        await token.looked.wait()
        while_live = waiting.done()
        token.is_live = False
        end = await waiting
        again = await heard(receive)

    assert (body, while_live, end, again) == (BODY, False, LEFT, LEFT)


async def test_a_client_that_leaves_by_itself_is_heard_while_its_token_lives() -> None:
    token, client = Token(), Client()
    with TokenWatch(every_s=600).watching(token, client.receive) as receive:
        await heard(receive)
        waiting = asyncio.ensure_future(heard(receive))
        await asyncio.sleep(0)
        client.leaves.set()

        assert await waiting == LEFT
        assert await heard(receive) == LEFT

    assert token.looks == 0


async def test_a_look_without_waiting_sees_what_is_there_and_takes_nothing() -> None:
    token, client = Token(), Client()
    with TokenWatch(every_s=600).watching(token, client.receive) as receive:
        await heard(receive)
        look = receive().__await__()
        next(look)
        look.close()
        waiting = asyncio.ensure_future(heard(receive))
        await asyncio.sleep(0)
        client.leaves.set()

        assert await waiting == LEFT


async def test_what_a_client_sends_in_pieces_comes_while_its_token_lives() -> None:
    pieces: asyncio.Queue[Message] = asyncio.Queue()
    begun: Message = {**BODY, "more_body": True}
    pieces.put_nowait(begun)
    with TokenWatch(every_s=600).watching(Token(), pieces.get) as receive:
        first = await heard(receive)
        waiting = asyncio.ensure_future(heard(receive))
        await asyncio.sleep(0)
        pieces.put_nowait(BODY)

        assert (first, await waiting) == (begun, BODY)


async def test_two_who_wait_for_one_token_both_hear_of_its_end() -> None:
    token, client = Token(), Client()
    with TokenWatch(every_s=0.001).watching(token, client.receive) as receive:
        await heard(receive)
        waiting = [asyncio.ensure_future(heard(receive)) for _ in range(2)]
        await token.looked.wait()
        token.is_live = False

        assert await asyncio.gather(*waiting) == [LEFT, LEFT]


async def test_a_wait_that_takes_too_long_by_itself_says_so() -> None:
    async def late() -> Message:
        raise TimeoutError

    with TokenWatch(every_s=600).watching(Token(), late) as receive:
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await receive()


async def test_tokens_are_told_apart() -> None:
    watch, ended, kept = TokenWatch(every_s=0.001), Token(), Token()
    first, second = Client(), Client()
    with watch.watching(ended, first.receive) as of_ended, watch.watching(kept, second.receive) as of_kept:
        await heard(of_ended)
        await heard(of_kept)
        ended.is_live = False
        waiting = asyncio.ensure_future(of_kept())

        assert await heard(of_ended) == LEFT
        assert not waiting.done()
        second.leaves.set()
        await waiting


async def test_nobody_looks_once_all_have_been_answered() -> None:
    watch, token, client = TokenWatch(every_s=0.001), Token(), Client()
    with watch.watching(token, client.receive):
        await token.looked.wait()
    looks = token.looks
    other = Token()
    with watch.watching(other, Client().receive):
        await other.looked.wait()

    assert token.looks == looks


@pytest.mark.parametrize(
    ("passed_on", "ends"),
    [
        ([], []),
        ([START], [END]),
        ([START, {**END, "body": b"a", "more_body": True}], [END]),
        ([START, {**END, "body": b"all"}], []),
    ],
)
async def test_an_answer_that_was_left_half_sent_is_brought_to_its_end(
    passed_on: list[Message], ends: list[Message]
) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    begun = BegunAnswer(send)
    for message in passed_on:
        await begun.send(message)
    await begun.end()
    await begun.end()

    assert sent == [*passed_on, *ends]
