from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.messages import RecipientKind
from tests.mailroom import Mailroom, open_mailroom


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Mailroom]:
    async with open_mailroom(tmp_path) as opened:
        yield opened


async def test_a_stored_message_is_found_with_its_names_resolved(room: Mailroom) -> None:
    new = room.letter(room.blue, body="caf\u00e9 \0 end", thread_id="TKT-1", topic="Build")

    message, recipients = await room.post(new, *room.addressed([room.red, room.fox]))

    assert (message.sender_name, message.project_slug, message.project_key) == ("BlueLake", "code-app", "/code/app")
    assert (message.thread_id, message.topic, message.body_md) == ("TKT-1", "Build", "caf\u00e9 \0 end")
    assert [(r.name, r.project_slug, r.kind, r.position) for r in recipients] == [
        ("RedStone", "code-app", RecipientKind.TO, 0),
        ("QuietFox", "code-lib", RecipientKind.TO, 1),
    ]
    assert await room.store.read(lambda view: view.messages.find(message.id)) == message


async def test_delivery_numbers_rise_over_all_recipients_and_messages(room: Mailroom) -> None:
    _, first = await room.post(room.letter(room.blue), *room.addressed([room.red, room.green]))
    _, second = await room.post(room.letter(room.red), *room.addressed([room.blue]))

    assert [r.delivery_seq for r in (*first, *second)] == [1, 2, 3]


async def test_delivery_times_never_fall_though_the_clock_does(room: Mailroom) -> None:
    _, first = await room.post(room.letter(room.blue), *room.addressed([room.red]))
    room.clock.step(-3_600)

    message, second = await room.post(room.letter(room.blue), *room.addressed([room.red]))

    assert second[0].delivered_ts == first[0].delivered_ts
    assert message.created_ts == room.clock.now


async def test_a_message_is_open_to_the_projects_of_its_sender_and_of_those_addressed_openly(room: Mailroom) -> None:
    openly, _ = await room.post(room.letter(room.blue), *room.addressed([room.fox]))
    blindly, _ = await room.post(room.letter(room.blue), *room.addressed([room.fox], RecipientKind.BCC))

    async def open_to(message_id: MessageId) -> list[bool]:
        return await room.store.read(
            lambda view: [view.messages.is_open_to(message_id, project.id) for project in (room.app, room.lib)]
        )

    assert await open_to(openly.id) == [True, True]
    assert await open_to(blindly.id) == [True, False]


async def test_a_blind_copy_to_another_project_is_in_the_search_scope_of_its_recipient_alone(room: Mailroom) -> None:
    message, _ = await room.post(room.letter(room.blue), *room.addressed([room.fox], RecipientKind.BCC))

    async with room.store.long_read() as connection:
        rows = await connection.execute_fetchall("SELECT scope FROM messages WHERE id = ?", (message.id,))

    assert [scope for (scope,) in rows] == [f"p{room.app.id} b{room.fox.id}"]


async def test_a_thread_lists_the_projects_mail_oldest_first_by_pages(room: Mailroom) -> None:
    ids = [
        (await room.post(room.letter(room.blue, thread_id="T"), *room.addressed([room.red])))[0].id for _ in range(5)
    ]
    await room.post(room.letter(room.fox, thread_id="T"), *room.addressed([room.lib_blue]))

    first = await room.store.read(lambda view: view.messages.list_thread(room.app.id, "T", limit=3))
    read_to = await room.store.read(lambda view: view.messages.place(room.app.id, first[-1].id))
    assert read_to is not None
    rest = await room.store.read(lambda view: view.messages.list_thread(room.app.id, "T", after=read_to, limit=3))

    assert [head.id for head in (*first, *rest)] == ids
    assert await room.store.read(lambda view: view.messages.count_thread(room.app.id, "T")) == 5
    assert await room.store.read(lambda view: view.messages.projects_of_thread("T")) == [room.app.id, room.lib.id]


async def test_a_topic_ignores_letter_case_and_lists_newest_first(room: Mailroom) -> None:
    old, _ = await room.post(room.letter(room.blue, topic="Build"), *room.addressed([room.red]))
    room.clock.step()
    new, _ = await room.post(room.letter(room.blue, topic="BUILD"), *room.addressed([room.red]))

    async def ids(since: int | None) -> list[int]:
        return await room.store.read(
            lambda view: [h.id for h in view.messages.list_topic(room.app.id, "build", since=since, limit=9)]  # type: ignore[arg-type]
        )

    assert await ids(None) == [new.id, old.id]
    assert await ids(old.created_ts) == [new.id]
    assert await ids(new.created_ts) == []


async def test_what_an_agent_sent_is_listed_newest_first(room: Mailroom) -> None:
    ids = [(await room.post(room.letter(room.blue), *room.addressed([room.red])))[0].id for _ in range(3)]
    await room.post(room.letter(room.red), *room.addressed([room.blue]))

    assert await room.store.read(lambda view: [h.id for h in view.messages.list_sent(room.blue.id, limit=2)]) == [
        ids[2],
        ids[1],
    ]


async def test_a_list_names_only_so_many_recipients_and_none_of_a_message_by_halves(room: Mailroom) -> None:
    ids = [(await room.post(room.letter(room.blue), *room.addressed([room.red, room.green])))[0].id for _ in range(3)]

    async def covered(limit: int) -> list[int]:
        return await room.store.read(lambda view: list(view.messages.addressees(ids, limit=limit)))

    assert await covered(6) == [ids[2], ids[1], ids[0]]
    assert await covered(5) == await covered(4) == [ids[2], ids[1]]
    assert await covered(3) == [ids[2]]


@pytest.mark.parametrize(
    ("call", "index"),
    [
        ("view.messages.list_thread(1, 'T', limit=5)", "message_projects_thread"),
        ("view.messages.count_thread(1, 'T')", "message_projects_thread"),
        ("view.messages.projects_of_thread('T')", "message_projects_thread"),
        ("view.messages.list_topic(1, 'b', limit=5)", "message_projects_topic"),
        ("view.messages.list_sent(1, limit=5)", "messages_sender"),
    ],
)
async def test_every_list_of_messages_walks_an_index_in_its_order(room: Mailroom, call: str, index: str) -> None:
    statements: list[str] = []
    room.store._reading.set_trace_callback(statements.append)
    await room.store.read(lambda view: eval(call, {"view": view}))
    room.store._reading.set_trace_callback(None)

    plans = [
        "\n".join(row[3] for row in room.store._reading.execute(f"EXPLAIN QUERY PLAN {statement}"))
        for statement in statements
        if statement.lstrip().startswith("SELECT")
    ]

    assert all(index in plan for plan in plans), plans
    assert not any("SCAN" in plan or "TEMP B-TREE" in plan for plan in plans), plans
