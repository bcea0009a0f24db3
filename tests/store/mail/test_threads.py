from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.store.mail import threads
from mcp_agent_mail.store.mail.threads import ListedThread, ThreadFilter
from mcp_agent_mail.store.transaction import View
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def post(seeded: SeededStore, thread_id: str | None, *, topic: str | None = None) -> int:
    letter = seeded.letter(seeded.blue, thread_id=thread_id, topic=topic)
    message, _ = await seeded.post(letter, *seeded.addressed([seeded.red]))
    return message.id


async def listed(seeded: SeededStore, keep: ThreadFilter = ThreadFilter(), limit: int = 20) -> list[str]:  # noqa: B008
    found, _ = await seeded.store.read(lambda view: view.threads.list_(seeded.app.id, keep, limit=limit))
    return [one.thread_id for one in found]


async def one(seeded: SeededStore) -> ListedThread:
    (found,), _ = await seeded.store.read(lambda view: view.threads.list_(seeded.app.id, ThreadFilter(), limit=20))
    return found


async def test_mail_that_nobody_answered_and_that_has_no_thread_is_none(seeded: SeededStore) -> None:
    await post(seeded, None)

    assert await listed(seeded) == []
    assert await listed(seeded, ThreadFilter(agent_id=seeded.red.id)) == []


async def test_a_limit_leaves_the_count_of_all(seeded: SeededStore) -> None:
    for name in "ABC":
        await post(seeded, name)

    found, total = await seeded.store.read(lambda view: view.threads.list_(seeded.app.id, ThreadFilter(), limit=2))

    assert ([thread.thread_id for thread in found], total) == (["C", "B"], 3)


async def test_only_the_newest_mail_is_looked_at(seeded: SeededStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await post(seeded, "A")
    for name in ("B", "C", "B"):
        await post(seeded, name)
    monkeypatch.setattr(threads, "SCANNED", 3)

    kept = [ThreadFilter(), ThreadFilter(agent_id=seeded.red.id), ThreadFilter(agent_id=seeded.blue.id)]
    assert [await listed(seeded, keep) for keep in kept] == [["B", "C"]] * 3
    assert await seeded.store.read(lambda view: dict(view.threads.unread(seeded.red.id))) == {"B": 2, "C": 1}


async def test_a_long_thread_is_counted_so_far_and_its_newest_mail_names_who_takes_part(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = await seeded.post(seeded.letter(seeded.green, thread_id="A"), *seeded.addressed([seeded.red]))
    for _ in range(threads.PARTICIPANTS):
        await post(seeded, "A")
    monkeypatch.setattr(threads, "COUNTED", 4)

    thread = await one(seeded)

    assert (thread.messages, thread.first.id) == (4, first.id)
    assert [who.name for who in thread.participants] == ["BlueLake", "RedStone"]


async def test_of_a_mailing_to_many_ten_are_named_and_no_blind_one(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "PARTICIPANTS", 2)
    open_copies = seeded.addressed([seeded.red, seeded.fox], RecipientKind.CC)
    blind = seeded.addressed([seeded.green], RecipientKind.BCC)
    await seeded.post(seeded.letter(seeded.blue, thread_id="A"), *blind, *open_copies)

    thread = await one(seeded)

    assert [who.name for who in thread.participants] == ["BlueLake", "RedStone"]


async def test_whose_copy_is_held_takes_part_as_everybody_named(seeded: SeededStore) -> None:
    """The message names it in `to`: a list that left it out would tell that its copy waits."""
    (waits,) = (replace(copy, held_code="CONTACT_REQUIRED") for copy in seeded.addressed([seeded.fox]))
    await seeded.post(seeded.letter(seeded.blue, thread_id="A"), waits, *seeded.addressed([seeded.red]))

    thread = await one(seeded)

    assert [who.name for who in thread.participants] == ["BlueLake", "RedStone", "QuietFox"]


async def test_of_more_threads_the_newest_mail_of_each_is_looked_at_less_and_never_less_than_two(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for sender in (seeded.green, seeded.blue, seeded.red):
        for name in "AB":
            await seeded.post(seeded.letter(sender, thread_id=name), *seeded.addressed([sender]))
    newest_first = ["RedStone", "BlueLake", "GreenField"]
    for scanned, looked_at in ((3, 2), (5, 2), (6, 3)):
        monkeypatch.setattr(threads, "SCANNED", scanned)
        found, _ = await seeded.store.read(lambda view: view.threads.list_(seeded.app.id, ThreadFilter(), limit=2))
        assert [who.name for who in found[0].participants] == newest_first[:looked_at]


async def plans_of(seeded: SeededStore, query: Callable[[View], object]) -> list[str]:
    statements: list[str] = []
    reading = seeded.store._reading
    reading.set_trace_callback(statements.append)
    await seeded.store.read(query)
    reading.set_trace_callback(None)
    return [row[3] for sql in statements if "SELECT" in sql for row in reading.execute(f"EXPLAIN QUERY PLAN {sql}")]


@pytest.mark.parametrize(
    ("topic", "of_agent", "index"),
    [
        (None, False, "message_projects_late"),
        ("b", False, "message_projects_topic"),
        (None, True, "recipients_inbox"),
        ("b", True, "recipients_topic"),
    ],
)
async def test_every_list_walks_indexes_of_bounded_ends(
    seeded: SeededStore, topic: str | None, index: str, *, of_agent: bool
) -> None:
    """Nothing scans a table of mail: only what the newest messages gave, and lists of ids."""
    await post(seeded, "A", topic="b")
    keep = ThreadFilter(agent_id=seeded.red.id if of_agent else None, topic=topic)

    plans = await plans_of(seeded, lambda view: view.threads.list_(seeded.app.id, keep, limit=20))

    scanned = {plan for plan in plans if plan.startswith("SCAN")}
    allowed = ("found", "newest", "late", "got", "wrote", "counted", "looked", "json_each", "(subquery", "CONSTANT")
    assert any(index in plan for plan in plans)
    assert all(plan.removeprefix("SCAN ").startswith(allowed) for plan in scanned), scanned
