from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.store.transaction import View
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def test_a_stored_message_is_found_with_its_names_resolved(seeded: SeededStore) -> None:
    new = seeded.letter(seeded.blue, body="caf\u00e9 \0 end", thread_id="TKT-1", topic="Build")

    message, recipients = await seeded.post(new, *seeded.addressed([seeded.red, seeded.fox]))

    assert (message.sender_name, message.project_slug, message.project_key) == ("BlueLake", "code-app", "/code/app")
    assert (message.thread_id, message.topic, message.body_md) == ("TKT-1", "Build", "caf\u00e9 \0 end")
    assert [(r.name, r.project_slug, r.kind, r.position) for r in recipients] == [
        ("RedStone", "code-app", RecipientKind.TO, 0),
        ("QuietFox", "code-lib", RecipientKind.TO, 1),
    ]
    assert await seeded.store.read(lambda view: view.messages.find(message.id)) == message


async def test_of_a_threads_projects_one_has_its_newest_mail(seeded: SeededStore) -> None:
    for sender, reader in ((seeded.blue, seeded.red), (seeded.fox, seeded.lib_blue)):
        await seeded.post(seeded.letter(sender, thread_id="T"), *seeded.addressed([reader]))

    def newest(view: View) -> list[int]:
        return [view.messages.newest_of_thread(one.id, thread) for one, thread in places]

    places = [(seeded.app, "T"), (seeded.lib, "T"), (seeded.lib, "other")]
    app, lib, other = await seeded.store.read(newest)

    assert 0 < app < lib
    assert other == 0


async def test_a_topic_ignores_letter_case_and_lists_newest_first(seeded: SeededStore) -> None:
    old, _ = await seeded.post(seeded.letter(seeded.blue, topic="Build"), *seeded.addressed([seeded.red]))
    seeded.clock.step()
    new, _ = await seeded.post(seeded.letter(seeded.blue, topic="BUILD"), *seeded.addressed([seeded.red]))

    async def ids(since: int | None) -> list[int]:
        return await seeded.store.read(
            lambda view: [h.id for h in view.messages.list_topic(seeded.app.id, "build", since=since, limit=9)]  # type: ignore[arg-type]
        )

    assert await ids(None) == [new.id, old.id]
    assert await ids(old.created_ts) == [new.id]
    assert await ids(new.created_ts) == []


async def test_what_an_agent_sent_is_listed_newest_first(seeded: SeededStore) -> None:
    ids = [(await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red])))[0].id for _ in range(3)]
    await seeded.post(seeded.letter(seeded.red), *seeded.addressed([seeded.blue]))

    assert await seeded.store.read(lambda view: [h.id for h in view.messages.list_sent(seeded.blue.id, limit=2)]) == [
        ids[2],
        ids[1],
    ]


async def test_a_list_names_only_so_many_recipients_and_none_of_a_message_by_halves(seeded: SeededStore) -> None:
    ids = [
        (await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red, seeded.green])))[0].id
        for _ in range(3)
    ]

    async def covered(limit: int) -> list[int]:
        return await seeded.store.read(lambda view: list(view.messages.addressees(ids, limit=limit)))

    assert await covered(6) == [ids[2], ids[1], ids[0]]
    assert await covered(5) == await covered(4) == [ids[2], ids[1]]
    assert await covered(3) == [ids[2]]


@pytest.mark.parametrize(
    ("call", "index"),
    [
        ("view.messages.projects_of_thread('T')", "message_projects_thread"),
        ("view.messages.newest_of_thread(1, 'T')", "message_projects_thread"),
        ("view.messages.list_topic(1, 'b', limit=5)", "message_projects_topic"),
        ("view.messages.list_sent(1, limit=5)", "messages_sender"),
    ],
)
async def test_every_list_of_messages_walks_an_index_in_its_order(seeded: SeededStore, call: str, index: str) -> None:
    statements: list[str] = []
    seeded.store._reading.set_trace_callback(statements.append)
    await seeded.store.read(lambda view: eval(call, {"view": view}))
    seeded.store._reading.set_trace_callback(None)

    plans = [
        "\n".join(row[3] for row in seeded.store._reading.execute(f"EXPLAIN QUERY PLAN {statement}"))
        for statement in statements
        if statement.lstrip().startswith("SELECT")
    ]

    assert all(index in plan for plan in plans), plans
    assert not any("SCAN" in plan or "TEMP B-TREE" in plan for plan in plans), plans
