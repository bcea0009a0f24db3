from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.store.mail.messages import END, DeliveryPosition
from mcp_agent_mail.store.transaction import View
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def answered(seeded: SeededStore, answers: int) -> list[MessageId]:
    """A message without a thread, and answers to it, which carry its number."""
    root, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    letters = [seeded.letter(seeded.red, thread_id=str(root.id)) for _ in range(answers)]
    return [root.id, *[(await seeded.post(one, *seeded.addressed([seeded.blue])))[0].id for one in letters]]


def place(view: View, seeded: SeededStore, message_id: MessageId) -> DeliveryPosition:
    found = view.messages.place(seeded.app.id, message_id)
    assert found is not None
    return found


async def test_a_thread_lists_the_projects_mail_oldest_first_by_pages(seeded: SeededStore) -> None:
    ids = [
        (await seeded.post(seeded.letter(seeded.blue, thread_id="T"), *seeded.addressed([seeded.red])))[0].id
        for _ in range(5)
    ]
    await seeded.post(seeded.letter(seeded.fox, thread_id="T"), *seeded.addressed([seeded.lib_blue]))

    first = await seeded.store.read(lambda view: view.thread_messages.list_(seeded.app.id, "T", limit=3))
    read_to = await seeded.store.read(lambda view: view.messages.place(seeded.app.id, first[-1].id))
    assert read_to is not None
    rest = await seeded.store.read(lambda view: view.thread_messages.list_(seeded.app.id, "T", after=read_to, limit=3))

    assert [head.id for head in (*first, *rest)] == ids
    assert await seeded.store.read(lambda view: view.thread_messages.count(seeded.app.id, "T")) == 5
    assert await seeded.store.read(lambda view: view.messages.projects_of_thread("T")) == [seeded.app.id, seeded.lib.id]


async def test_what_a_thread_is_named_by_is_in_each_list_and_count_of_it(seeded: SeededStore) -> None:
    root, first, second = await answered(seeded, 2)
    thread, home = str(root), seeded.app.id

    def look(view: View) -> list[object]:
        mail = view.thread_messages
        behind = place(view, seeded, first)
        return [
            [head.id for head in mail.list_(home, thread, limit=9)],
            [head.id for head in mail.list_(home, thread, limit=2)],
            [head.id for head in mail.list_(home, thread, after=behind, limit=9)],
            mail.count(home, thread),
            mail.count_up_to(home, thread, behind),
            mail.find_before(home, thread, behind),
            mail.find_back(home, thread, END, steps=2),
            mail.find_back(home, thread, END, steps=3),
        ]

    assert await seeded.store.read(look) == [[root, first, second], [root, first], [second], 3, 2, root, root, None]


async def test_what_carries_its_own_number_as_its_thread_is_there_once(seeded: SeededStore) -> None:
    message, _ = await seeded.post(seeded.letter(seeded.blue, thread_id="1"), *seeded.addressed([seeded.red]))

    assert message.id == 1
    assert await seeded.store.read(lambda view: view.thread_messages.count(seeded.app.id, "1")) == 1
    assert len(await seeded.store.read(lambda view: view.thread_messages.list_(seeded.app.id, "1", limit=9))) == 1


async def test_what_the_project_may_not_read_begins_no_thread_of_its(seeded: SeededStore) -> None:
    foreign, _ = await seeded.post(seeded.letter(seeded.fox), *seeded.addressed([seeded.lib_blue]))
    letter = seeded.letter(seeded.blue, thread_id=str(foreign.id))
    answer, _ = await seeded.post(letter, *seeded.addressed([seeded.red]))

    found = await seeded.store.read(lambda view: view.thread_messages.list_(seeded.app.id, str(foreign.id), limit=9))

    assert [head.id for head in found] == [answer.id]


@pytest.mark.parametrize(
    "call",
    [
        "list_(1, '7', limit=5)",
        "count(1, '7')",
        "count_up_to(1, '7', (9, 9))",
        "find_before(1, '7', (9, 9))",
        "find_back(1, '7', (9, 9), steps=5)",
    ],
)
async def test_every_look_at_a_thread_walks_its_index_in_order(seeded: SeededStore, call: str) -> None:
    statements: list[str] = []
    seeded.store._reading.set_trace_callback(statements.append)
    await seeded.store.read(lambda view: eval(f"view.thread_messages.{call}", {"view": view}))
    seeded.store._reading.set_trace_callback(None)

    (statement,) = [one for one in statements if one.lstrip().startswith("SELECT")]
    plan = [row[3] for row in seeded.store._reading.execute(f"EXPLAIN QUERY PLAN {statement}")]

    assert any("message_projects_thread" in step for step in plan), plan
    # The head of a page alone is sorted: whatever is read of the thread itself comes merged, in order.
    assert call.startswith("count") or "MERGE (UNION ALL)" in plan
    assert call.startswith("list_") or not any("TEMP B-TREE" in step for step in plan), plan
    assert not any(step.startswith("SCAN message_projects") for step in plan), plan
