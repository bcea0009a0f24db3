"""Summaries of threads and digests of what came lately: made, stored, fetched, beside the event loop where long."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from mcp_agent_mail.core.errors import AgentMailError, PermissionDenied
from mcp_agent_mail.domain.summaries.digests import Newest
from mcp_agent_mail.domain.summaries.extract import ThreadMessage, ThreadSummary, summarize
from mcp_agent_mail.features.summaries import service as service_module
from mcp_agent_mail.features.summaries.service import LONG_CHARACTERS, MAX_NAMED_THREADS
from mcp_agent_mail.store.mail.digests import Digests
from mcp_agent_mail.store.mail.summaries import READ_CHARACTERS
from tests.features.summaries.harness import SummariesHarness

HOUR = 3_600 * SECOND


async def test_a_digest_is_stored_and_says_what_came(harness: SummariesHarness) -> None:
    await harness.post("Decision: use `ruff`.")
    await harness.post("Who tags the release?", thread_id="plan-2")

    recent = await harness.call("summarize_recent")

    now = harness.seeded.clock.now
    assert recent == {
        "id": 1,
        "summary_text": recent["summary_text"],
        "start_ts": iso(Micros(now - HOUR)),
        "end_ts": iso(now),
        "source_message_count": 2,
        "source_thread_ids": ["plan-1", "plan-2"],
        "llm_model": None,
        "cost_usd": 0.0,
        "created_ts": iso(now),
        "cached": False,
    }
    summary = json.loads(recent["summary_text"])
    assert (summary["decisions"], summary["open_questions"]) == (["use `ruff`."], ["Who tags the release?"])
    assert await harness.call("fetch_summary") == [{key: value for key, value in recent.items() if key != "cached"}]


async def test_while_nothing_newer_came_the_stored_digest_is_given(harness: SummariesHarness) -> None:
    await harness.post("Decision: one")
    first = await harness.call("summarize_recent")
    harness.seeded.clock.step(60)
    again = await harness.call("summarize_recent")
    await harness.post("Decision: two")
    newer = await harness.call("summarize_recent")

    assert again == {**first, "cached": True}
    assert (newer["id"], newer["cached"], newer["source_message_count"]) == (2, False, 2)


async def test_another_span_or_bound_is_another_digest(harness: SummariesHarness) -> None:
    await harness.post("Decision: one")
    harness.seeded.clock.step(5_400)
    await harness.post("Decision: two")

    recent = [
        await harness.call("summarize_recent", **given)
        for given in ({}, {"since_hours": 2}, {"since_hours": "2", "max_messages": 1})
    ]

    assert [one["source_message_count"] for one in recent] == [1, 2, 1]
    assert [one["cached"] for one in recent] == [False] * 3


async def test_without_mail_nothing_is_stored(harness: SummariesHarness) -> None:
    await harness.post("Old news")
    harness.seeded.clock.step(7_200)

    recent = await harness.call("summarize_recent")

    assert (recent["id"], recent["created_ts"], recent["source_message_count"]) == (None, None, 0)
    assert json.loads(recent["summary_text"])["total_messages"] == 0
    assert await harness.call("fetch_summary") == []


async def test_mail_that_was_held_counts_from_when_it_was_delivered(harness: SummariesHarness) -> None:
    """It is late: its id is older than that of mail that came long before it."""
    held = await harness.post("Decision: late", to=[], held_for=[harness.seeded.red])
    await harness.post("Decision: early")
    harness.seeded.clock.step(7_200)
    before = await harness.call("summarize_recent")

    def deliver(tx: object) -> None:
        connection = tx.messages._connection  # type: ignore[attr-defined]  # as an approval leaves it
        now = harness.seeded.clock.now
        connection.execute(
            "INSERT INTO message_projects (project_id, message_id, delivered_ts, is_late) VALUES (?, ?, ?, 1)",
            (harness.seeded.app.id, held, now),
        )

    await harness.seeded.store.write(deliver)
    after = await harness.call("summarize_recent")

    assert before["id"] is None
    assert json.loads(after["summary_text"])["decisions"] == ["late"]


async def test_digests_hold_no_mail_that_only_some_may_read(harness: SummariesHarness) -> None:
    seeded = harness.seeded
    await harness.post("Decision: held", to=[], held_for=[seeded.red])
    await harness.post("Decision: blind", sender=seeded.lib_blue, to=[seeded.fox], bcc=[seeded.red])

    assert (await harness.call("summarize_recent", harness.proof(seeded.red)))["id"] is None


async def test_digests_come_newest_first_and_only_of_the_hours_asked_for(harness: SummariesHarness) -> None:
    for _ in range(3):
        await harness.post("Decision: again")
        await harness.call("summarize_recent")
        harness.seeded.clock.step(1_800)

    async def ids(**given: object) -> list[int]:
        return [one["id"] for one in await harness.call("fetch_summary", **given)]

    assert (await ids(), await ids(limit=1), await ids(since_hours=0.6)) == ([3, 2, 1], [3], [3])


async def test_only_who_may_read_the_project_makes_and_reads_its_digests(harness: SummariesHarness) -> None:
    for tool in ("summarize_recent", "fetch_summary"):
        with pytest.raises(PermissionDenied):
            await harness.call(tool, harness.proof(harness.seeded.fox))


async def test_an_archived_project_gets_no_new_digests(harness: SummariesHarness) -> None:
    await harness.seeded.store.write(lambda tx: tx.projects.set_archived(harness.seeded.app.id, tx.now))

    with pytest.raises(AgentMailError) as refused:
        await harness.call("summarize_recent")

    assert refused.value.code == "CONFLICT"
    assert await harness.call("fetch_summary") == []


async def test_the_newest_digests_of_a_project_are_kept(harness: SummariesHarness) -> None:
    await harness.post("x")
    await harness.call("summarize_recent")
    (digest,) = await harness.seeded.store.read(
        lambda view: view.digests.list_since(harness.seeded.app.id, Micros(0), limit=9)
    )
    assert digest.created_ts is not None

    def add_three(tx: object) -> list[int | None]:
        from mcp_agent_mail.domain.summaries.digests import NewDigest

        digests = Digests(tx.messages._connection, kept=2)  # type: ignore[attr-defined]  # a smaller bound
        new = NewDigest(
            project_id=harness.seeded.app.id,
            newest=Newest(message_id=1, delivered_ts=Micros(1)),  # type: ignore[arg-type]
            span=Micros(1),
            max_messages=1,
            summary_text="{}",
            start_ts=Micros(1),
            end_ts=Micros(2),
            source_message_count=1,
            source_thread_ids=["t"],
            llm_model=None,
            cost_usd=0.0,
        )
        return [digests.add(new, Micros(number)).id for number in (3, 4, 5)]

    added = await harness.seeded.store.write(add_three)

    kept = await harness.seeded.store.read(
        lambda view: view.digests.list_since(harness.seeded.app.id, Micros(0), limit=9)
    )
    assert [one.id for one in kept] == [1, added[2]]


async def test_an_agent_of_another_project_is_refused(harness: SummariesHarness) -> None:
    with pytest.raises(PermissionDenied):
        await harness.thread(harness.proof(harness.seeded.fox))


@pytest.mark.parametrize(("messages", "is_beside"), [(1, False), (1 + LONG_CHARACTERS // READ_CHARACTERS, True)])
async def test_only_much_text_is_read_beside_the_event_loop_with_the_same_result(
    messages: int, is_beside: bool, harness: SummariesHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def watched(messages: Sequence[ThreadMessage], *, total: int | None) -> ThreadSummary:
        seen.append(threading.current_thread() is not threading.main_thread())
        return summarize(messages, total=total)

    monkeypatch.setattr(service_module, "summarize", watched)
    for _ in range(messages):
        await harness.post("Decision: short\n\n" + "word " * READ_CHARACTERS)

    thread = await harness.thread()

    assert seen == [is_beside]
    assert thread["summary"]["decisions"] == ["short"]


async def test_a_digest_names_a_hundred_threads_in_the_order_of_their_first_message(harness: SummariesHarness) -> None:
    threads = [f"t-{number}" for number in range(MAX_NAMED_THREADS + 1)]
    await harness.post("outside of threads", thread_id=None)
    for thread in ("t-0", *threads):
        await harness.post("x", thread_id=thread)

    recent = await harness.call("summarize_recent")

    assert recent["source_thread_ids"] == threads[:MAX_NAMED_THREADS]
    assert recent["source_message_count"] == MAX_NAMED_THREADS + 3


async def test_two_who_ask_at_once_get_one_digest(harness: SummariesHarness) -> None:
    for _ in range(1 + LONG_CHARACTERS // READ_CHARACTERS):
        await harness.post("word " * READ_CHARACTERS)

    both = await asyncio.gather(harness.call("summarize_recent"), harness.call("summarize_recent"))

    assert {one["id"] for one in both} == {1}
    assert sorted(one["cached"] for one in both) == [False, True]
