"""Subscriptions over real HTTP, with the official client in both eras: who is told of what, and who is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ErrorData

from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.features.delivery.subscription_counts import URIS_EACH
from mcp_agent_mail.store.transaction import Tx
from tests.server.served_mail import Served, serving
from tests.server.subscribers import ERAS, HANDSHAKE, MODERN, WITHIN_S, subscribed
from tests.server.test_mcp import JSON_HEADERS, handshake_call, modern_call, post

INBOX, BLUES = "resource://inbox/RedStone", "resource://inbox/BlueLake"
VIEW = "resource://views/ack-required/RedStone?limit=5"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as opened:
        yield opened


def url_of(served: Served) -> str:
    return str(served.client.base_url).rstrip("/")


async def listening(served: Served, agent: str = "RedStone") -> tuple[bool, str | None]:
    found = await served.call("whois", agent_name=agent)
    return found["listening"], found["listening_via"]


async def until_subscribed(served: Served, count: int) -> None:
    """Until so many are: it is a client's, or its connection's, to go."""
    async with asyncio.timeout(WITHIN_S):
        while served.services.subscriptions.count != count:  # noqa: ASYNC110  # nobody tells a test
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("era", ERAS)
async def test_each_of_the_four_kinds_tells_of_a_send_a_receipt_and_a_withdrawal(served: Served, era: str) -> None:
    first = await served.send(thread_id="plan", ack_required=True)
    uris = [INBOX, VIEW, "resource://thread/plan", f"resource://message/{first}"]

    async with subscribed(url_of(served), era, uris) as subscriber:
        second = await served.send(thread_id="plan")
        sent = {await subscriber.next() for _ in uris[:3]}
        await served.call("mark_message_read", agent_name="RedStone", message_id=first)
        read = {await subscriber.next() for _ in uris}
        await served.call("withdraw_message", sender_name="BlueLake", message_id=second)
        withdrawn = {await subscriber.next() for _ in uris[:3]}

    assert (sent, read, withdrawn) == (set(uris[:3]), set(uris), set(uris[:3]))


@pytest.mark.parametrize("era", ERAS)
async def test_nobody_is_told_of_what_is_another_agents_or_another_threads(served: Served, era: str) -> None:
    first = await served.send(thread_id="plan")
    await served.send(thread_id="other")

    async with subscribed(url_of(served), era, [BLUES, "resource://thread/other"]) as subscriber:
        await served.send(thread_id="plan")
        await served.call("mark_message_read", agent_name="RedStone", message_id=first)
        await served.send(sender_name="RedStone", to=["BlueLake"])

        assert await subscriber.next() == BLUES
        assert subscriber.told.empty()


@pytest.mark.parametrize("era", ERAS)
async def test_blind_copies_are_told_to_their_recipient_alone(served: Served, era: str) -> None:
    """Its reader's receipt would say that there is one."""
    await served.call("register_agent", name="GreenField", program="p", model="m")
    number = await served.send(to=["RedStone"], bcc=["GreenField"], thread_id="plan")
    uris = [f"resource://message/{number}", "resource://thread/plan"]

    async with subscribed(url_of(served), era, [*uris, "resource://inbox/GreenField"]) as subscriber:
        await served.call("mark_message_read", agent_name="GreenField", message_id=number)
        blind = await subscriber.next()
        await served.call("mark_message_read", agent_name="RedStone", message_id=number)
        rest = {await subscriber.next(), await subscriber.next()}

    assert (blind, rest) == ("resource://inbox/GreenField", set(uris))


@pytest.mark.parametrize("era", ERAS)
async def test_held_mail_tells_nobody_before_it_is_approved(served: Served, era: str) -> None:
    await served.call("set_contact_policy", agent_name="RedStone", policy="contacts_only")
    await served.send(sender_name="RedStone", to=["BlueLake"], thread_id="plan")
    await served.send(to=["BlueLake"], thread_id="mine")

    async with subscribed(url_of(served), era, [INBOX, BLUES]) as subscriber:
        held = await served.client.post(
            "/rpc/send_message",
            json={
                "project_key": "/code/app",
                "sender_name": "BlueLake",
                "to": ["RedStone"],
                "subject": "s",
                "body_md": "b",
            },
        )
        asked = [await subscriber.next()]
        await served.call("respond_contact", to_agent="RedStone", from_agent="BlueLake", accept=True)
        released = await subscriber.next()

    assert held.status_code == 200, held.text
    assert (asked, released) == ([INBOX], INBOX), "the request for contact, then the mail"


@pytest.mark.parametrize("era", ERAS)
async def test_who_may_not_read_is_refused_as_the_read_is(tmp_path: Path, era: str) -> None:
    async with serving(tmp_path, AGENT_AUTH="strict") as served:
        blue = {"X-Agent-Token": served.tokens["BlueLake"]}
        refused = await refusal(served, era, [INBOX], blue)
        async with subscribed(url_of(served), era, [BLUES], blue) as subscriber:
            with pytest.raises(MCPError) as read:
                await subscriber.client.read_resource(INBOX)

    assert (refused.code, refused.message, refused.data) == (
        read.value.error.code,
        read.value.error.message,
        read.value.error.data,
    )
    assert refused.data["error"]["type"] == "PERMISSION_DENIED"


async def refusal(served: Served, era: str, uris: list[str], headers: dict[str, str] | None = None) -> ErrorData:
    """Why these are not subscribed to."""
    try:
        async with subscribed(url_of(served), era, uris, headers):
            pass
    except BaseExceptionGroup as group:
        found: BaseException = group
    except MCPError as error:
        found = error
    else:
        pytest.fail("nothing was refused")
    while isinstance(found, BaseExceptionGroup):
        (found,) = found.exceptions
    assert isinstance(found, MCPError), found
    return found.error


@pytest.mark.parametrize("era", ERAS)
async def test_whose_token_counts_no_more_is_not_told_any_more(tmp_path: Path, era: str) -> None:
    async with serving(tmp_path, AGENT_AUTH="strict") as served:
        red, blue = ({"X-Agent-Token": served.tokens[name]} for name in ("RedStone", "BlueLake"))
        served.client.headers.update(blue)
        async with (
            subscribed(url_of(served), era, [INBOX], red) as lost,
            subscribed(url_of(served), era, [BLUES], blue) as kept,
        ):
            await served.send(to=["RedStone"])
            before = await lost.next()

            def reissue(tx: Tx) -> None:
                red_stone = tx.agents.find_by_token_hash(token_hash(served.tokens["RedStone"]))
                assert red_stone is not None
                tx.agents.set_token_hash(red_stone.id, b"another")

            await served.store.write(reissue)
            await served.send(to=["RedStone", "BlueLake"])
            await kept.next()
            # Its stream has ended, and the place is another's.
            await served.until_waiting(streams=1)

            assert (before, lost.told.empty()) == (INBOX, True)


@pytest.mark.parametrize("era", ERAS)
async def test_subscribing_and_being_told_reads_and_marks_nothing(served: Served, era: str) -> None:
    """Even to the agent itself, proven, and on a session where mail was handed over before."""
    token = {"X-Agent-Token": served.tokens["RedStone"]}
    number = await served.send()

    async with subscribed(url_of(served), era, [INBOX, f"resource://message/{number}"], token) as subscriber:
        second = await served.send()
        await subscriber.next()
        await served.services.delivery_marks.write()
        for one in (number, second):
            (copy,) = (await served.call("message_status", message_id=one))["recipients"]
            assert list(copy["steps"]) == ["delivered"]

    assert (await served.call("fetch_inbox", agent_name="RedStone", limit=0))["unread_count"] == 2


@pytest.mark.parametrize("era", ERAS)
async def test_only_an_inbox_subscribed_to_as_its_agent_makes_it_listening(served: Served, era: str) -> None:
    token = {"X-Agent-Token": served.tokens["RedStone"]}
    number = await served.send(thread_id="plan")
    before = await listening(served)
    async with subscribed(url_of(served), era, [INBOX]):
        anybody = await listening(served)
    async with subscribed(url_of(served), era, [f"resource://message/{number}", "resource://thread/plan"], token):
        other = await listening(served)
    async with subscribed(url_of(served), era, [VIEW], token):
        proven = await listening(served)
    async with subscribed(url_of(served), era, [INBOX], query="?project=/code/app&agent=RedStone"):
        said = await listening(served)
    await served.until_waiting()

    assert (before, anybody, other) == ((False, None),) * 3
    assert (proven, said) == ((True, "stream"),) * 2
    assert await listening(served) == (False, None)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_leaves_frees_all_that_it_had(served: Served, era: str) -> None:
    async with subscribed(url_of(served), era, [INBOX, VIEW]):
        await served.until_waiting(streams=1)
        assert served.services.subscriptions.count == 2

    await served.until_waiting()
    await until_subscribed(served, 0)


@pytest.mark.parametrize("era", ERAS)
async def test_what_changes_often_is_told_once_for_all_of_it_and_the_last_change_always(
    served: Served, era: str
) -> None:
    async with subscribed(url_of(served), era, [INBOX]) as subscriber:
        ids = [await served.send() for _ in range(20)]
        seen: list[int] = []
        told = 0
        while ids[-1] not in seen:
            await subscriber.next()
            told += 1
            read = await subscriber.client.read_resource(INBOX)
            seen = [item["id"] for item in httpx.Response(200, text=read.contents[0].text).json()["messages"]]  # type: ignore[union-attr]  # text

    assert told < 20


@pytest.mark.parametrize("era", ERAS)
async def test_a_stream_tells_of_a_hundred_uris_and_no_more(served: Served, era: str) -> None:
    uris = [f"{INBOX}?limit={number}" for number in range(1, URIS_EACH + 2)]
    refused = await refusal(served, era, uris)
    async with subscribed(url_of(served), era, uris[:-1]) as subscriber:
        await served.send()
        told = {await subscriber.next() for _ in uris[:-1]}

    assert refused.data["error"]["data"]["limit"] == URIS_EACH
    assert told == set(uris[:-1])


@pytest.mark.parametrize("era", ERAS)
async def test_streams_count_among_those_who_wait(tmp_path: Path, era: str) -> None:
    async with serving(tmp_path, WAITERS_MAX="10") as served:
        waits = [
            asyncio.create_task(served.call("wait_for_messages", agent_name="RedStone", timeout_s=50)) for _ in range(9)
        ]
        await served.until_waiting(waits=9)
        refused = [await refusal(served, era, [INBOX])]
        red = {"X-Agent-Token": served.tokens["RedStone"]}
        async with subscribed(url_of(served), era, [INBOX], red):
            await served.until_waiting(waits=9, streams=1)
            refused.append(await refusal(served, era, [INBOX], red))
        await served.send()
        await asyncio.gather(*waits)

    assert [one.data["error"]["type"] for one in refused] == ["UNAVAILABLE"] * 2
    assert [one.data["error"]["data"]["limit"] for one in refused] == [9, 10], "the last one is for who is proven"


async def test_in_the_modern_era_unreadable_ones_are_left_out_of_what_is_acknowledged(served: Served) -> None:
    async with (
        subscribed(url_of(served), MODERN, [INBOX]) as subscriber,
        subscriber.client.listen(
            resource_subscriptions=[INBOX, "resource://message/999", "resource://projects"], tools_list_changed=True
        ) as stream,
    ):
        honored = stream.honored

    assert honored.resource_subscriptions == [INBOX]
    assert honored.tools_list_changed is None


async def test_what_nobody_tells_of_is_refused_with_what_can_be_subscribed_to(served: Served) -> None:
    refused = await refusal(served, HANDSHAKE, ["resource://projects"])

    error = refused.data["error"]
    assert (error["type"], "resource://inbox/{agent}" in error["hint"]) == ("INVALID_INPUT", True)


async def test_who_unsubscribes_is_not_told_any_more(served: Served) -> None:
    async with subscribed(url_of(served), HANDSHAKE, [INBOX, BLUES]) as subscriber:
        await subscriber.unsubscribe(INBOX)
        await subscriber.unsubscribe(INBOX)
        await served.send(to=["RedStone", "BlueLake"], sender_name="RedStone")

        assert await subscriber.next() == BLUES
        assert subscriber.told.empty()


async def test_what_changed_while_the_session_had_no_stream_is_told_when_it_has(served: Served) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    opened = await post(f"{url_of(served)}/mcp", handshake_call, "initialize", hello)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
    answer = await post(f"{url_of(served)}/mcp", handshake_call, "resources/subscribe", {"uri": INBOX}, **session)
    await served.send()

    async with served.client.stream("GET", "/mcp", headers={**JSON_HEADERS, **session}) as stream:
        line = await anext(line async for line in stream.aiter_lines() if line.startswith("data:"))

    assert answer.json()["result"] == {}
    assert "notifications/resources/updated" in line
    assert INBOX in line


async def test_without_a_session_there_is_nowhere_to_be_told(served: Served) -> None:
    answer = await post(f"{url_of(served)}/mcp", handshake_call, "resources/subscribe", {"uri": INBOX})

    assert answer.json()["error"]["data"]["error"]["type"] == "UNAVAILABLE"
    assert served.services.subscriptions.count == 0


async def test_a_stop_ends_streams_at_once_and_in_the_modern_era_with_a_result(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, subscribed(url_of(served), MODERN, [INBOX]) as subscriber:
        served.services.wake()

        async with asyncio.timeout(WITHIN_S):
            await subscriber.ended.wait()


async def test_both_eras_are_promised_subscriptions_and_the_modern_one_no_word_of_lists(served: Served) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    told: list[dict[str, Any]] = [
        (await post(f"{url_of(served)}/mcp", handshake_call, "initialize", hello)).json()["result"]["capabilities"],
        (await post(f"{url_of(served)}/mcp", modern_call, "server/discover", {})).json()["result"]["capabilities"],
    ]

    assert [one["resources"]["subscribe"] for one in told] == [True, True]
    assert not any(told[1][part].get("listChanged") for part in ("tools", "prompts", "resources"))


async def test_the_connection_that_ends_with_its_session_is_where_the_sdk_has_it(served: Served) -> None:
    """A private attribute of the SDK: whoever ends its session has no subscriptions left."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    opened = await post(f"{url_of(served)}/mcp", handshake_call, "initialize", hello)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
    await post(f"{url_of(served)}/mcp", handshake_call, "resources/subscribe", {"uri": INBOX}, **session)
    assert served.services.subscriptions.count == 1

    await served.client.delete("/mcp", headers=session)

    await until_subscribed(served, 0)


async def test_a_stream_that_another_opens_tells_only_what_that_one_may_read_too(served: Served) -> None:
    """Whoever knows the id of a session can open its stream."""
    red, blue = ({"X-Agent-Token": served.tokens[name]} for name in ("RedStone", "BlueLake"))
    await served.send(thread_id="plan")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    opened = await post(f"{url_of(served)}/mcp", handshake_call, "initialize", hello)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
    for uri in (INBOX, "resource://thread/plan"):
        await post(f"{url_of(served)}/mcp", handshake_call, "resources/subscribe", {"uri": uri}, **session, **red)
    await served.send(thread_id="plan")

    async with served.client.stream("GET", "/mcp", headers={**JSON_HEADERS, **session, **blue}) as stream:
        lines = (line async for line in stream.aiter_lines() if line.startswith("data:"))
        told = [await anext(lines)]
        await served.send(thread_id="plan")
        told.append(await anext(lines))

    assert all("resource://thread/plan" in line for line in told)
