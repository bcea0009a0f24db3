"""What is handed over and shown, by answers that leave over a real socket through every door."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.server.sessions.forgotten_sessions import ForgottenSessions
from tests.features.delivery.served_mail import (
    GREEN,
    RED,
    McpSession,
    ServedMail,
    open_served,
)
from tests.server.whole_app import OPERATOR


@pytest.fixture
async def mail(tmp_path: Path) -> AsyncIterator[ServedMail]:
    async with open_served(tmp_path) as opened:
        yield opened


async def door(mail: ServedMail, name: str) -> McpSession:
    return await mail.session() if name == "session" else mail.stateless()


FORGOTTEN, ANOTHER_FORGOTTEN = "0123456789abcdef" * 2, "fedcba9876543210" * 2
"""Ids as the server gives them out, of sessions that it does not know."""

DOORS = pytest.mark.parametrize("by", ["session", "stateless"])


@DOORS
async def test_what_an_answer_holds_is_handed_over_and_the_next_call_shows_it(mail: ServedMail, by: str) -> None:
    message_id = await mail.send()
    session = await door(mail, by)

    before = await mail.status(message_id)
    await session.inbox()
    read = await mail.status(message_id)
    await session.acts()

    assert (before, read) == ("delivered", "handed_over")
    assert await mail.steps(message_id) == ["delivered", "handed_over", "shown"]
    assert await mail.events() == [("shown", message_id)]


async def test_sessions_have_ids_by_which_they_are_known_when_they_are_forgotten(mail: ServedMail) -> None:
    session_id = (await mail.session()).session_id

    assert session_id is not None
    assert ForgottenSessions(most=1).find(session_id.encode()) is not None


async def test_the_same_holds_for_plain_calls(mail: ServedMail) -> None:
    message_id = await mail.send()

    await mail.rpc("fetch_inbox", agent_name=RED)
    read = await mail.status(message_id)
    await mail.rpc("fetch_inbox", agent_name=RED, limit=0)

    assert (read, await mail.status(message_id)) == ("handed_over", "shown")


async def test_a_token_shows_nothing_of_what_was_handed_to_a_word(mail: ServedMail) -> None:
    message_id = await mail.send()
    await mail.rpc("fetch_inbox", agent_name=RED)

    await mail.rpc("fetch_inbox", agent_name=RED, limit=0, headers=mail.proof(RED))

    assert await mail.status(message_id) == "handed_over"


async def test_another_session_shows_nothing(mail: ServedMail) -> None:
    message_id = await mail.send()
    first, second = await mail.session(), await mail.session()
    await first.inbox()

    await second.acts()
    await mail.stateless().acts()
    await mail.rpc("fetch_inbox", agent_name=RED, limit=0)
    seen = await mail.status(message_id)
    await first.acts()

    assert (seen, await mail.status(message_id)) == ("handed_over", "shown")


async def test_sessions_that_a_restart_has_forgotten_are_as_apart_as_before(mail: ServedMail) -> None:
    message_id = await mail.send()
    first = replace(mail.stateless(), session_id=FORGOTTEN)
    second = replace(first, session_id=ANOTHER_FORGOTTEN)
    await first.inbox()

    await second.acts()
    await mail.stateless().acts()
    seen = await mail.status(message_id)
    await first.acts()

    assert (seen, await mail.status(message_id)) == ("handed_over", "shown")


async def test_a_forgotten_session_that_acts_as_two_agents_of_a_project_shows_nothing(mail: ServedMail) -> None:
    message_id = await mail.send()
    session = replace(mail.stateless(), session_id=FORGOTTEN)
    await session.inbox()

    await session.acts(GREEN)
    await session.acts()

    assert await mail.status(message_id) == "handed_over"


async def test_what_a_forgotten_session_got_with_a_token_is_shown_by_that_token_alone(mail: ServedMail) -> None:
    message_id = await mail.send()
    session = replace(mail.stateless(), session_id=FORGOTTEN)
    proven = replace(session, headers=mail.proof(RED))
    await proven.inbox()

    await session.acts()
    seen = await mail.status(message_id)
    await proven.acts()

    assert (seen, await mail.status(message_id)) == ("handed_over", "shown")


async def test_what_it_got_at_a_word_is_shown_by_its_token_too(mail: ServedMail) -> None:
    message_id = await mail.send()
    session = replace(mail.stateless(), session_id=FORGOTTEN)
    await session.inbox()

    await replace(session, headers=mail.proof(RED)).acts()

    assert await mail.status(message_id) == "shown"


@pytest.mark.parametrize("word", ["", "undefined"])
async def test_clients_that_send_the_same_word_for_a_session_are_not_one(mail: ServedMail, word: str) -> None:
    message_id = await mail.send()
    red = replace(mail.stateless(mail.proof(RED)), session_id=word)
    await replace(mail.stateless(mail.proof(GREEN)), session_id=word).acts(GREEN)
    await red.inbox()

    await red.acts()

    assert await mail.status(message_id) == "shown"


async def test_a_session_named_off_mcp_or_in_the_stateless_era_proves_nothing_of_its_own(mail: ServedMail) -> None:
    message_id = await mail.send()
    stale = {"Mcp-Session-Id": FORGOTTEN}
    await mail.rpc("fetch_inbox", agent_name=RED, headers=stale)

    await mail.stateless(stale).acts()

    assert await mail.status(message_id) == "shown"


async def test_another_agents_call_shows_nothing(mail: ServedMail) -> None:
    message_id = await mail.send()
    session = mail.stateless()
    await session.inbox()

    await session.acts(GREEN)

    assert await mail.status(message_id) == "handed_over"


async def test_a_session_that_acted_as_two_agents_of_a_project_shows_nothing_any_more(mail: ServedMail) -> None:
    first = await mail.send()
    session = await mail.session()
    await session.inbox()

    await session.acts(GREEN)
    await session.acts()
    second = await mail.send()
    await session.inbox()
    await session.acts()

    assert [await mail.status(one) for one in (first, second)] == ["handed_over", "handed_over"]


async def test_one_agent_in_each_of_two_projects_is_no_doubt(mail: ServedMail, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    await mail.client.post("/rpc/ensure_project", json={"human_key": str(other)})
    await mail.rpc("register_agent", project_key=str(other), name=GREEN, program="tests", model="none")
    message_id = await mail.send()
    session = await mail.session()
    await session.inbox()

    await session.tool("fetch_inbox", project_key=str(other), agent_name=GREEN)
    await session.acts()

    assert await mail.status(message_id) == "shown"


async def test_a_call_does_not_show_what_it_hands_over_itself(mail: ServedMail) -> None:
    message_id = await mail.send()
    session = await mail.session()
    await session.acts()

    await session.inbox()

    assert await mail.status(message_id) == "handed_over"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_mail", {"agent_name": RED}),
        ("read_mail", {"agent_name": RED, "include_bodies": "false"}),
        ("wait_for_messages", {"agent_name": RED}),
        ("hook_wait", {"agent_name": RED}),
        ("macro_prepare_thread", {"thread_id": "T-1", "agent_name": RED, "program": "tests", "model": "none"}),
        ("macro_start_session", {"agent_name": RED, "program": "tests", "model": "none"}),
        ("fetch_inbox_product", {"product_key": "shop", "agent_name": RED}),
    ],
)
async def test_every_tool_that_gives_mail_to_its_recipient_hands_it_over(
    mail: ServedMail, tool: str, arguments: dict[str, str]
) -> None:
    message_id = await mail.send(thread_id="T-1")
    await mail.client.post("/rpc/ensure_product", json={"product_key": "shop"})
    await mail.client.post("/rpc/products_link", json={"product_key": "shop", "project_key": mail.project})
    given: dict[str, object] = {"project_key": mail.project, **arguments}
    if tool == "read_mail":
        given["message_id"] = message_id
    if tool == "macro_start_session":
        given = {"human_key": mail.project, **arguments}
    if tool == "fetch_inbox_product":
        given.pop("project_key")

    answer = await mail.client.post(f"/rpc/{tool}", json=given)

    assert answer.status_code == 200, answer.text
    assert await mail.status(message_id) == "handed_over"


async def test_what_a_wait_tells_from_behind_its_page_is_handed_over_too(mail: ServedMail) -> None:
    for _ in range(20):
        await mail.send()
    after = await mail.send()
    urgent = await mail.send(importance="urgent")

    answer = await mail.client.post("/rpc/hook_wait", json={"project_key": mail.project, "agent_name": RED})

    assert answer.status_code == 200, answer.text
    assert (await mail.status(urgent), await mail.status(after)) == ("handed_over", "delivered")


@pytest.mark.parametrize("door_of", ["mcp", "rpc"])
@pytest.mark.parametrize(
    "place", ["inbox/RedStone", "mailbox/RedStone", "views/ack-required/RedStone", "message", "T-1"]
)
async def test_a_resource_hands_over_by_a_token_alone(mail: ServedMail, place: str, door_of: str) -> None:
    message_id = await mail.send(thread_id="T-1", ack_required=True)
    path = {"message": f"message/{message_id}", "T-1": "thread/T-1"}.get(place, place)
    uri = f"resource://{path}?project={mail.project}"

    async def read(headers: dict[str, str]) -> None:
        if door_of == "mcp":
            assert "contents" in await mail.stateless(headers).read(uri)
        else:
            await mail.rpc("read_resource", uri=uri, headers=headers)

    await read({})
    unproven = await mail.status(message_id)
    await read(mail.proof(RED))

    assert (unproven, await mail.status(message_id)) == ("delivered", "handed_over")


async def test_what_others_read_of_it_hands_nothing_over(mail: ServedMail) -> None:
    message_id = await mail.send(thread_id="T-1", topic="plans")
    operator = {"Authorization": f"Bearer {OPERATOR}"}

    await mail.rpc("fetch_inbox", agent_name=RED, headers=operator)
    await mail.rpc("read_mail", message_id=message_id)
    await mail.rpc("read_mail", message_id=message_id, agent_name=GREEN)
    await mail.rpc("fetch_topic", topic_name="plans", headers=mail.proof(RED))
    await mail.rpc("search_messages", query="b", headers=mail.proof(RED))
    await mail.rpc("fetch_inbox_events", agent_name=RED, headers=mail.proof(RED))
    await mail.rpc("message_status", message_id=message_id, agent_name=RED)

    assert await mail.status(message_id) == "delivered"


async def test_a_refusal_hands_nothing_over(mail: ServedMail) -> None:
    message_id = await mail.send()
    session = await mail.session()

    refused = await session.inbox(after_id=999)

    assert refused["isError"]
    assert await mail.status(message_id) == "delivered"
