"""Answers with mail in them that are cut, not taken, sent ahead of or left unread: what they prove of delivery."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.features.delivery.served_mail import GREEN, RED, ServedMail, open_served, read_answer, read_head, read_some

MUCH = 1_000_000
"""Of a body; several of them are more than the kernel keeps for a connection that takes little."""


@pytest.fixture
async def mail(tmp_path: Path) -> AsyncIterator[ServedMail]:
    async with open_served(tmp_path) as opened:
        yield opened


async def much_mail(mail: ServedMail) -> int:
    """An inbox of more than the kernel takes for a client that reads nothing; the newest of it."""
    return [await mail.send(body_md="x" * MUCH) for _ in range(2)][-1]


@pytest.mark.parametrize("took_bytes", [0, 1, 200, 100_000])
async def test_an_answer_that_was_cut_hands_nothing_over(mail: ServedMail, took_bytes: int) -> None:
    message_id = await much_mail(mail)
    raw = await mail.connect(takes_bytes=4_096)
    await mail.ask_inbox(raw)
    await read_some(raw, took_bytes)
    await mail.look_round()

    raw.close()
    await mail.look_round()
    await mail.rpc("fetch_inbox", agent_name=RED, limit=0)

    assert await mail.status(message_id) == "delivered"


async def test_a_client_that_stops_reading_is_handed_nothing_until_it_has_taken_all(mail: ServedMail) -> None:
    message_id = await much_mail(mail)
    raw = await mail.connect(takes_bytes=4_096)
    await mail.ask_inbox(raw)
    left_bytes = await read_head(raw)
    await read_some(raw, 100_000)
    await mail.look_round()

    meanwhile = await mail.status(message_id)
    await read_some(raw, left_bytes - 100_000)
    await mail.look_round()
    taken = await mail.status(message_id)
    raw.close()

    assert (meanwhile, taken) == ("delivered", "handed_over")


async def test_what_was_sent_ahead_on_a_connection_shows_nothing_of_the_answers_before_it(mail: ServedMail) -> None:
    message_id = await mail.send()
    raw = await mail.connect()

    await mail.ask_inbox(raw, twice=True)
    answers = [await read_answer(raw), await read_answer(raw)]
    ahead = await mail.status(message_id)
    await mail.ask_inbox(raw)
    await read_answer(raw)
    raw.close()

    assert answers[0] == answers[1]
    assert (ahead, await mail.status(message_id)) == ("handed_over", "shown")


async def test_a_whole_answer_before_one_that_is_cut_counts_alone(mail: ServedMail) -> None:
    small = await mail.send(to=GREEN)
    large = await much_mail(mail)
    raw = await mail.connect(takes_bytes=4_096)
    await mail.ask_inbox(raw, agent_name=GREEN)
    await read_answer(raw)

    await mail.ask_inbox(raw)
    await read_some(raw, 1_000)
    raw.close()
    await mail.look_round()

    assert [await mail.status(one) for one in (small, large)] == ["handed_over", "delivered"]


@pytest.mark.parametrize("read_bytes", [0, 10, 300])
async def test_an_answer_that_its_client_left_unread_is_not_shown_by_its_next_call(
    mail: ServedMail, read_bytes: int
) -> None:
    message_id = await mail.send()
    raw = await mail.connect()
    await mail.ask_inbox(raw)
    await read_some(raw, 1)
    await read_some(raw, read_bytes)

    raw.close()
    await mail.look_round()
    await mail.rpc("fetch_inbox", agent_name=RED, limit=0)

    assert await mail.status(message_id) == "handed_over"


async def test_a_client_that_asks_again_before_its_kernel_has_the_answer_has_not_read_it(mail: ServedMail) -> None:
    message_id = await mail.send(body_md="x" * 12_000)
    raw = await mail.connect(takes_bytes=4_096)
    await mail.ask_inbox(raw)
    await mail.look_round()
    sent = await mail.status(message_id)

    await mail.ask_inbox(raw)
    await mail.look_round()
    reset(raw)
    await mail.look_round()
    await mail.rpc("fetch_inbox", agent_name=RED, limit=0)

    assert (sent, await mail.status(message_id)) == ("handed_over", "handed_over")


async def test_a_client_that_begins_to_ask_again_and_resets_the_connection_has_read_nothing(mail: ServedMail) -> None:
    message_id = await mail.send()
    raw = await mail.connect()
    await mail.ask_inbox(raw)
    await mail.look_round()

    await asyncio.get_running_loop().sock_sendall(raw, b"P")
    await mail.look_round()
    reset(raw)
    await mail.look_round()
    await mail.rpc("fetch_inbox", agent_name=RED, limit=0)

    assert await mail.status(message_id) == "handed_over"


def reset(raw: socket.socket) -> None:
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()


@pytest.mark.parametrize("connection", ["close", "keep-alive"])
async def test_a_client_that_has_its_connections_closed_is_shown_its_mail_as_any_other(
    mail: ServedMail, connection: str
) -> None:
    message_id = await mail.send()
    async with httpx.AsyncClient(base_url=mail.client.base_url, headers={"Connection": connection}) as client:
        for _ in range(2):
            asked = {"project_key": mail.project, "agent_name": RED}
            assert (await client.get("/rest/v1/inbox", params=asked)).status_code == 200

    assert await mail.status(message_id) == "shown"


async def test_one_that_leaves_its_answer_unread_when_its_connection_is_closed_is_not(mail: ServedMail) -> None:
    message_id = await mail.send()
    raw = await mail.connect()
    await mail.ask_inbox(raw, connection="close")
    await read_some(raw, 1)
    raw.close()
    await mail.look_round()

    await mail.rpc("fetch_inbox", agent_name=RED, limit=0)

    assert await mail.status(message_id) == "handed_over"


async def test_what_was_read_again_after_that_is_shown(mail: ServedMail) -> None:
    message_id = await mail.send()
    raw = await mail.connect()
    await mail.ask_inbox(raw)
    await read_some(raw, 1)
    raw.close()
    await mail.look_round()

    await mail.rpc("fetch_inbox", agent_name=RED)
    again = await mail.status(message_id)
    await mail.rpc("fetch_inbox", agent_name=RED)

    assert (again, await mail.status(message_id)) == ("handed_over", "shown")
