from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.domain.search.query import Hit, Order
from mcp_agent_mail.store.engine.sqlite.connection import open_writing
from mcp_agent_mail.store.engine.sqlite.long_reads import ReadBound, ReadTooLong
from mcp_agent_mail.store.mail import search as search_module
from mcp_agent_mail.store.mail import search_filters
from tests.seeded_store import open_seeded_store
from tests.store.mail.search_room import Room


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with open_seeded_store(tmp_path) as seeded:
        yield Room(seeded)


async def test_a_body_comes_out_of_the_index_as_it_was_written(room: Room) -> None:
    body = 'plan A \x00 \x01 "quoted" \\ \u2028 \U0001f600 \u00e9\ttab'
    await room.post('A "plan"', body)

    (hit,) = await room.search("plan")

    assert hit.subject == 'A "plan"'
    assert hit.snippet == 'plan A \x00 \x01 "quoted" \\ \U0001f600 \u00e9 tab'


@pytest.mark.parametrize(
    "tampering",
    [
        "INSERT INTO messages_fts (rowid, subject, body_md, scope) VALUES (:private, 'plan', '', 'p1')",
        "INSERT INTO message_projects (project_id, message_id, delivered_ts) VALUES (1, :private, 0)",
    ],
)
async def test_neither_the_index_nor_the_tables_alone_show_a_message(room: Room, tampering: str) -> None:
    private = await room.post("plan", sender=room.seeded.fox, to=[room.seeded.lib_blue])
    assert room.seeded.app.id == 1
    writing = open_writing(room.seeded.store.path)
    writing.execute(tampering, {"private": private})
    writing.commit()
    writing.close()

    assert await room.ids("plan") == []
    assert await room.ids("plan", order=Order.NEWEST) == []


async def test_a_hit_says_whose_mail_it_is_and_from_where(room: Room) -> None:
    seeded = room.seeded
    message_id = await room.post("The plan", "first", sender=seeded.fox, to=[seeded.blue], importance=Importance.HIGH)

    (hit,) = await room.search("plan")

    assert hit == Hit(
        id=hit.id,
        subject="The plan",
        importance=Importance.HIGH,
        ack_required=False,
        created_ts=seeded.clock.now,
        thread_id=None,
        sender_name="QuietFox",
        sender_project_id=seeded.lib.id,
        sender_project_slug="code-lib",
        snippet="first",
        project_id=seeded.app.id,
    )
    assert hit.id == message_id


async def test_mail_of_another_project_that_the_reader_got_is_no_mail_of_this_one(room: Room) -> None:
    seeded = room.seeded
    blind = await room.post("plan", sender=seeded.fox, to=[seeded.lib_blue], bcc=[seeded.red])

    (hit,) = await room.search("plan", reader=seeded.red)

    assert (hit.id, hit.project_id) == (blind, None)
    assert await room.ids("plan", reader=seeded.green) == []


async def test_several_projects_are_searched_as_one_and_each_message_is_found_once(room: Room) -> None:
    seeded = room.seeded
    of_app = await room.post("plan")
    of_lib = await room.post("planned", sender=seeded.fox, to=[seeded.lib_blue])
    of_both = await room.post("plan", sender=seeded.fox, to=[seeded.blue])

    found = await room.search("plan", beside=seeded.lib)

    assert {hit.id: hit.project_id for hit in found} == {
        of_app: seeded.app.id,
        of_lib: seeded.lib.id,
        of_both: seeded.lib.id,
    }
    assert len(found) == 3
    assert sorted(await room.ids("plan")) == [of_app, of_both]


@pytest.mark.parametrize("query", ["pl*", "subject:pl*", "pl* dr*", "pl* OR dr*", "pl* NOT dr*", '"the pl" *'])
@pytest.mark.parametrize("more", [{}, {"importance": Importance.HIGH}, {"thread_id": "TKT-7"}])
async def test_the_newest_mail_tells_of_beginnings_what_the_index_does(
    room: Room, monkeypatch: pytest.MonkeyPatch, query: str, more: dict[str, Any]
) -> None:
    for bound, value in {"CANDIDATES": 4, "FEW": 0, "WALKS": (64,)}.items():
        monkeypatch.setattr(search_filters if bound == "FEW" else search_module, bound, value)
    for number in range(30):
        subject = ("The plan", "News", "A draft")[number % 3]
        await room.post(subject, ("the plan, a draft", "explain", "the platform")[number % 4 % 3], **more)
        await room.post("The plan", "of another kind")
    read = await room.ids(query, limit=4, **more)

    monkeypatch.setattr(search_module, "WALKS", ())

    assert read == await room.ids(query, limit=4, **more)
    assert len(read) == 4


async def test_of_a_beginning_that_little_mail_has_the_index_is_asked(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "WALKS", (2, 4))
    old = await room.post("The plan")
    for _ in range(6):
        await room.post("News")

    assert await room.ids("pl*") == [old]


async def test_a_beginning_is_found_in_ones_own_mail_of_other_projects_and_in_no_other_there(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "CANDIDATES", 1)
    seeded = room.seeded
    here = [await room.post("plan") for _ in range(3)]
    foreign = await room.post("plan", sender=seeded.fox, to=[seeded.lib_blue])
    blind = await room.post("plan", sender=seeded.fox, to=[seeded.lib_blue], bcc=[seeded.red])
    own = await room.post("plan", sender=seeded.red, to=[seeded.fox])

    assert await room.ids("pl*", reader=seeded.red, limit=3) == [own, blind, here[2]]
    assert await room.ids("pl*", reader=seeded.green, limit=2) == [own, here[2]]
    assert await room.ids("pl*", limit=2) == [own, here[2]]
    assert await room.ids("pl*", reader=seeded.fox, whole_project=False, limit=1) == [own]
    assert foreign in await room.ids("pl*", beside=seeded.lib, limit=3)


async def test_who_may_not_read_the_project_finds_by_a_beginning_what_it_takes_part_in(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "CANDIDATES", 1)
    mine = await room.post("plan", to=[room.seeded.fox])
    await room.post("plan")

    assert await room.ids("pl*", reader=room.seeded.fox, whole_project=False, limit=1) == [mine]


async def test_who_got_a_blind_copy_is_told_only_with_blind_copies(room: Room) -> None:
    seeded = room.seeded
    blind = await room.post("plan", to=[seeded.green], bcc=[seeded.red])
    seen = await room.post("plan", to=[seeded.red])

    assert await room.ids("plan", recipients=(seeded.red.id,)) == [seen]
    assert sorted(await room.ids("plan", recipients=(seeded.red.id,), with_blind=True)) == [blind, seen]


async def test_mail_that_is_held_for_an_agent_is_not_among_what_it_takes_part_in(room: Room) -> None:
    red = room.seeded.red
    await room.post("plan", to=[room.seeded.green], held=[red])
    delivered = await room.post("plan", to=[red])

    assert await room.ids("plan", reader=red, whole_project=False) == [delivered]


async def test_nobody_is_the_recipient_of_mail_that_is_held_for_it(room: Room) -> None:
    red = room.seeded.red
    await room.post("plan", to=[room.seeded.green], held=[red])
    delivered = await room.post("plan", to=[red])

    assert await room.ids("plan", recipients=(red.id,)) == [delivered]


async def test_nobody_is_a_participant_of_mail_that_is_held_for_it(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_filters, "FEW", 0)
    red = room.seeded.red
    await room.post("plan", to=[room.seeded.green], held=[red])
    delivered = await room.post("plan", to=[red])

    assert await room.ids("plan", participant_id=red.id) == [delivered]


async def test_mail_of_agents_alone_is_found_without_the_servers(room: Room) -> None:
    told = await room.post("plan", is_system=True)
    written = await room.post("plan")

    assert await room.ids("plan", is_system=False) == [written]
    assert await room.ids("plan", is_system=True) == [told]


@pytest.mark.parametrize(("query", "is_often"), [("pl*", True), ("plan NOT dr*", True), ("plan", False)])
async def test_a_beginning_among_few_messages_has_its_time_looked_at_often(
    room: Room, monkeypatch: pytest.MonkeyPatch, query: str, *, is_often: bool
) -> None:
    mine = await room.post("plan", thread_id="TKT-7")
    asked = []
    real = ReadBound.asked_often

    def watched(self: ReadBound) -> AbstractContextManager[None]:
        asked.append(self)
        return real(self)

    monkeypatch.setattr(ReadBound, "asked_often", watched)

    assert await room.ids(query, thread_id="TKT-7") == [mine]
    assert bool(asked) is is_often
    asked.clear()
    assert await room.ids(query) == [mine]
    assert not asked


async def test_what_has_taken_its_time_is_not_ranked_any_more(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    await room.post("plan")
    ranked = []
    monkeypatch.setattr(search_module, "ranked", lambda *_: ranked.append(1))
    monkeypatch.setattr(room.seeded.store._long_reads, "_time_bound_s", -1.0)

    with pytest.raises(ReadTooLong):
        await room.ids("plan")
    assert ranked == []
