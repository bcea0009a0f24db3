from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.hooks.announcements import MAX_STOPS, STOPS_WITHIN_S
from mcp_agent_mail.features.delivery.hooks import announcements as rules
from mcp_agent_mail.features.delivery.hooks import known_sessions
from mcp_agent_mail.store import announcements as rows
from tests.features.delivery.harness import DeliveryHarness, open_delivery, refused
from tests.features.delivery.hooks.hearings import Heard

A_HOOK = Credentials(via="rpc")


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[DeliveryHarness]:
    async with open_delivery(tmp_path) as opened:
        yield opened


# Plain JSON.
async def event(harness: DeliveryHarness, **more: Any) -> Any:
    given = {"agent_name": "RedStone", "session": "s", "event": "turn", **more}
    return await harness.call("hook_event", A_HOOK, **given)


def ids(answer: dict[str, Any]) -> list[int]:
    return [one["id"] for one in answer["messages"]]


async def test_an_event_without_news_writes_nothing(harness: DeliveryHarness) -> None:
    await harness.sent_id()
    told = await event(harness, least="any")
    await harness.call("hook_told", A_HOOK, agent_name="RedStone", session="s", claim=told["claim"])
    await event(harness)
    commits: list[None] = []
    harness.seeded.store.on_commit(lambda: commits.append(None))

    for name in ("start", "turn", "tool", "idle", "end"):
        await event(harness, event=name, least="any", stop=True, reprime=True)

    assert commits == []


async def test_every_event_is_activity_of_the_agent(harness: DeliveryHarness) -> None:
    harness.noted.clear()

    await event(harness)

    assert harness.noted == ["RedStone"]


async def test_a_sub_agents_event_is_told_nothing_shows_nothing_and_ends_no_session(harness: DeliveryHarness) -> None:
    number = await harness.sent_id()
    told = await event(harness, least="any")
    await harness.call("hook_told", A_HOOK, agent_name="RedStone", session="s", claim=told["claim"])
    await harness.sent_id(importance="urgent", topic="stop")

    subs = [
        await event(harness, event=name, least="any", stop=True, subagent=True)
        for name in ("start", "turn", "tool", "idle", "end")
    ]
    before = await harness.call("message_status", agent_name="BlueLake", message_id=number)
    waits = await event(harness, event="tool", least="any", can_refuse=True)
    after = await harness.call("message_status", agent_name="BlueLake", message_id=number)

    assert {(len(ids(one)), one["stop"], one["claim"], one["unread"]) for one in subs} == {(0, None, None, 2)}
    assert ids(waits) == []
    assert [one["recipients"][0]["status"] for one in (before, after)] == ["handed_over", "shown"]


@pytest.mark.parametrize("name", ["start", "turn", "tool", "idle"])
async def test_what_asks_to_stop_waits_for_a_call_whatever_event_comes_before(
    harness: DeliveryHarness, name: str
) -> None:
    number = await harness.sent_id(importance="urgent", topic="stop")

    before = await event(harness, event=name, least="any", can_refuse=True)
    call = await event(harness, event="tool", stop=True, can_refuse=True)

    assert (ids(before), before["more"], before["unread"]) == ([], 0, 1)
    assert call["stop"]["id"] == number


async def _calls(harness: DeliveryHarness, count: int) -> list[int | None]:
    """Of so many calls in a row, the stop that each was refused for."""
    answers = [await event(harness, event="tool", stop=True, can_refuse=True) for _ in range(count)]
    return [one["stop"] and one["stop"]["id"] for one in answers]


async def test_so_many_calls_in_a_row_are_refused_and_the_rest_is_told_as_items(harness: DeliveryHarness) -> None:
    """Whoever sends stops without end stops nobody's work."""
    numbers = [await harness.sent_id(importance="urgent", topic="stop") for _ in range(8)]

    refused_for = await _calls(harness, 8)
    items = [await event(harness, event="tool", least="urgent", can_refuse=True) for _ in range(3)]

    assert refused_for == [*numbers[:MAX_STOPS], *[None] * 5]
    assert [one for answer in items for one in ids(answer)] == numbers[MAX_STOPS:]
    assert all(one["asks_stop"] for answer in items for one in answer["messages"])


async def test_calls_side_by_side_are_bound_as_those_in_a_row(harness: DeliveryHarness) -> None:
    for _ in range(8):
        await harness.sent_id(importance="urgent", topic="stop")

    answers = await asyncio.gather(*(event(harness, event="tool", stop=True) for _ in range(8)))

    assert sum(one["stop"] is not None for one in answers) == MAX_STOPS


async def test_after_a_while_calls_are_refused_again_and_another_session_has_its_own(harness: DeliveryHarness) -> None:
    now = [1_000.0]
    harness.service._announcements._elapsed = lambda: now[0]
    for _ in range(8):
        await harness.sent_id(importance="urgent", topic="stop")
    first = await _calls(harness, 5)
    now[0] += STOPS_WITHIN_S - 1
    soon = await _calls(harness, 1)
    now[0] += 2

    assert [one is not None for one in first] == [True] * MAX_STOPS + [False] * 2
    assert soon == [None]
    assert [one is not None for one in await _calls(harness, 5)] == [True] * MAX_STOPS + [False] * 2
    assert (await event(harness, session="other", event="tool", stop=True))["stop"] is not None


async def test_where_no_call_can_be_refused_it_is_an_item_that_says_so(harness: DeliveryHarness) -> None:
    await harness.sent_id(importance="urgent", topic="stop")
    await harness.sent_id(importance="urgent", topic="build")

    answer = await event(harness, event="turn", least="any")

    assert [one["asks_stop"] for one in answer["messages"]] == [True, False]


async def test_whether_it_waits_is_decided_by_the_event_alone(harness: DeliveryHarness) -> None:
    await event(harness, event="tool", stop=True, can_refuse=True)
    number = await harness.sent_id(importance="urgent", topic="stop")

    assert ids(await event(harness, event="tool", least="urgent")) == [number]


async def test_a_session_that_is_full_is_told_counts_alone(
    harness: DeliveryHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MAX_GIVEN", 2)
    numbers = [await harness.sent_id() for _ in range(3)]

    first = await event(harness, least="any")
    full = await event(harness, least="any")
    await harness.sent_id(importance="urgent", topic="stop")
    not_refused = await event(harness, event="tool", stop=True)

    assert (ids(first), first["more"]) == (numbers[:2], 1)
    assert (ids(full), full["more"], full["claim"], full["unread"]) == ([], 1, None, 3)
    assert (not_refused["stop"], not_refused["claim"], not_refused["unread"]) == (None, None, 4)


async def test_with_room_again_a_full_session_is_told_the_rest(
    harness: DeliveryHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MAX_GIVEN", 2)
    numbers = [await harness.sent_id() for _ in range(3)]
    told = await event(harness, least="any")
    await harness.call("hook_told", A_HOOK, agent_name="RedStone", session="s", claim=told["claim"])
    await harness.call("mark_message_read", agent_name="RedStone", message_ids=numbers[:2])
    await event(harness)

    answer = await event(harness, least="any")

    assert ids(answer) == numbers[2:]


async def test_how_many_more_is_counted_to_a_bound(harness: DeliveryHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_MORE", 2)
    for _ in range(6):
        await harness.sent_id()

    answer = await event(harness, least="any", limit=1)

    assert (len(ids(answer)), answer["more"], answer["unread"]) == (1, 2, 6)


async def test_what_memory_knows_of_a_session_goes_with_its_end(harness: DeliveryHarness) -> None:
    known = harness.service._announcements._known[False]
    await event(harness)
    before = known.count
    await event(harness, event="end")

    assert (before, known.count) == (1, 0)


async def test_strangers_push_no_session_out_of_memory(
    harness: DeliveryHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event that began before the session was told shows nothing, however many others are heard meanwhile."""
    monkeypatch.setattr(known_sessions, "MAX_KNOWN", 5)
    number = await harness.sent_id()
    before_s = time.monotonic()
    told = await event(harness, least="any")
    await harness.call("hook_told", A_HOOK, agent_name="RedStone", session="s", claim=told["claim"])
    for stranger in range(9):
        await event(harness, agent_name="BlueLake", session=f"x{stranger}")

    with heard_by(Heard(before_s)):
        await event(harness, event="tool")

    status = await harness.call("message_status", agent_name="BlueLake", message_id=number)
    assert status["recipients"][0]["status"] == "handed_over"


async def test_a_lone_surrogate_is_no_name_of_a_session(harness: DeliveryHarness) -> None:
    error = await refused(event(harness, session="\ud800"))

    assert error.code == "INVALID_INPUT"
