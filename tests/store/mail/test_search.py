from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.search.expansion import Term
from mcp_agent_mail.domain.search.query import Order
from mcp_agent_mail.domain.search.ranking import RankedText, ranked
from mcp_agent_mail.store.mail import search as search_module
from mcp_agent_mail.store.mail import search_filters
from tests.seeded_store import open_seeded_store
from tests.store.mail.search_room import Room


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with open_seeded_store(tmp_path) as seeded:
        yield Room(seeded)


async def test_who_may_not_read_the_project_finds_its_own_mail_there_by_whole_words(room: Room) -> None:
    seeded = room.seeded
    await room.post("reparseToken")
    mine = await room.post("reparseToken", to=[seeded.fox])

    assert await room.ids("reparseToken", reader=seeded.fox, whole_project=False) == [mine]
    assert await room.ids("parseTok", reader=seeded.fox, whole_project=False) == []


async def test_the_newest_or_the_oldest_are_kept_as_the_order_says(room: Room) -> None:
    ids = [await room.post("plan") for _ in range(3)]

    assert await room.ids("plan", order=Order.NEWEST, limit=2) == [ids[2], ids[1]]
    assert await room.ids("plan", order=Order.OLDEST, limit=2) == [ids[0], ids[1]]


async def test_of_few_messages_all_hits_are_ranked_however_old(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "CANDIDATES", 2)
    best = await room.post("News", "plan, plan and plan", thread_id="TKT-7")
    for _ in range(3):
        await room.post("News", "a plan", thread_id="TKT-7")

    assert (await room.ids("plan", limit=1, thread_id="TKT-7")) == [best]


async def test_names_are_looked_into_only_where_no_word_is_found(room: Room) -> None:
    await room.post("reparseToken")
    word = await room.post("parseTok")

    assert await room.ids("parseTok") == [word]


async def test_a_search_is_one_piece_of_work_beside_the_event_loop(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    await room.post("The plan")
    threads = set()

    def watched(texts: Sequence[RankedText], terms: Sequence[Term]) -> list[int]:
        threads.add(threading.current_thread())
        return ranked(texts, terms)

    monkeypatch.setattr(search_module, "ranked", watched)
    turns = 0
    searching = asyncio.ensure_future(room.ids("plan"))
    while not searching.done():
        turns += 1
        await asyncio.sleep(0)

    assert len(await searching) == 1
    assert len(threads) == 1
    assert threading.main_thread() not in threads
    assert turns > 0


async def test_old_hits_in_the_subject_are_looked_for_among_so_many_hits_as_a_walk_may_have(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "CANDIDATES", 2)
    old_subject = await room.post("The plan")
    for _ in range(6):
        await room.post("News", "a plan")

    assert old_subject in await room.ids("plan", limit=2)
    monkeypatch.setattr(search_module, "SUBJECT_WALK", 3)
    assert old_subject not in await room.ids("plan", limit=2)


@pytest.mark.parametrize("order", [Order.NEWEST, Order.OLDEST])
async def test_of_more_names_than_are_looked_at_the_newest_or_the_oldest_are_found(
    room: Room, monkeypatch: pytest.MonkeyPatch, order: Order
) -> None:
    monkeypatch.setattr(search_filters, "FEW", 1)
    ids = [await room.post("reparseToken") for _ in range(3)]

    assert await room.ids("parseTok", order=order, limit=1) == [ids[-1 if order is Order.NEWEST else 0]]


async def test_a_bound_on_candidates_hides_no_small_project_beside_a_busy_one(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "CANDIDATES", 5)
    seeded = room.seeded
    mine = await room.post("plan", sender=seeded.red, to=[seeded.green])
    for _ in range(20):
        await room.post("plan", sender=seeded.fox, to=[seeded.lib_blue])

    assert await room.ids("plan", limit=3) == [mine]


async def test_beyond_the_newest_hits_those_with_a_word_in_the_subject_are_ranked(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "CANDIDATES", 5)
    old_subject = await room.post("The plan")
    old_body = await room.post("News", "plan plan plan")
    for _ in range(10):
        await room.post("News", "a plan")

    found = await room.ids("plan", limit=6)

    assert found[0] == old_subject
    assert old_body not in found


@pytest.mark.parametrize("few", [0, 200])
@pytest.mark.parametrize("narrowing", ["thread_id", "sender_id", "participant_id"])
async def test_a_narrow_filter_finds_the_same_whether_or_not_it_is_asked_first(
    room: Room, monkeypatch: pytest.MonkeyPatch, narrowing: str, few: int
) -> None:
    monkeypatch.setattr(search_filters, "FEW", few)
    seeded = room.seeded
    kept = [
        await room.post(subject, sender=seeded.red, to=[seeded.blue], thread_id="TKT-7")
        for subject in ("a plan", "plan, plan", "no such word", "the plan")
    ]
    for _ in range(5):
        await room.post("plan", sender=seeded.green, to=[seeded.green])
    value = "TKT-7" if narrowing == "thread_id" else seeded.red.id

    assert await room.ids("plan", order=Order.NEWEST, **{narrowing: value}) == [kept[3], kept[1], kept[0]]
    assert await room.ids("plan", order=Order.OLDEST, limit=2, **{narrowing: value}) == [kept[0], kept[1]]
    assert (await room.ids("plan", **{narrowing: value}))[0] == kept[1]


async def test_since_parts_the_mail_exactly_though_the_clock_was_set_back(room: Room) -> None:
    early = [await room.post("plan") for _ in range(5)]
    since = room.seeded.clock.now
    late = [await room.post("plan") for _ in range(4)]
    room.seeded.clock.step(-3_600)
    latest = await room.post("plan")

    assert await room.ids("plan", order=Order.OLDEST, since_ts=since) == [*late, latest]
    assert await room.ids("plan", order=Order.NEWEST, since_ts=Micros(1)) == [
        latest,
        *reversed(late),
        *reversed(early),
    ]


async def test_a_limit_above_the_bound_is_met(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "CANDIDATES", 5)
    for _ in range(12):
        await room.post("News", "a plan")

    assert len(await room.ids("plan", limit=12)) == 12


async def test_a_word_deep_in_a_long_body_is_shown_in_its_place(room: Room) -> None:
    await room.post("Log", "line\n" * 5_000 + "then an Error came up\n" + "line\n" * 5_000)

    (hit,) = await room.search("error")

    assert "then an Error came up line" in hit.snippet
    assert hit.snippet.startswith("\u2026")
    assert len(hit.snippet) < 250


async def test_text_without_blanks_is_found_by_any_two_characters_of_it(room: Room) -> None:
    message_id = await room.post("\u65e5\u672c\u8a9e\u306e\u30c6\u30b9\u30c8", "\u5168\u6587\u691c\u7d22\u6a5f\u80fd")

    assert await room.ids("\u672c\u8a9e") == [message_id]
    assert await room.ids("\u691c\u7d22") == [message_id]
    assert await room.ids("subject:\u691c\u7d22") == []
    assert (await room.search("\u691c\u7d22"))[0].snippet == "\u5168\u6587\u691c\u7d22\u6a5f\u80fd"


async def test_a_search_that_finds_enough_is_not_widened(room: Room) -> None:
    await room.post("News", "we planned it")
    exact = [await room.post("News", "a plan") for _ in range(10)]

    assert sorted(await room.ids("plan")) == exact


@pytest.mark.parametrize("few", [0, 200])
async def test_filters_hold_for_a_wider_search(room: Room, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(search_filters, "FEW", few)
    seeded = room.seeded
    mine = await room.post("News", "rotation of keys", thread_id="TKT-7")
    await room.post("News", "rotation of keys", sender=seeded.green)

    assert await room.ids("rotate keys", thread_id="TKT-7") == [mine]
    assert await room.ids("rotate keys", sender_id=seeded.blue.id) == [mine]


async def test_the_newest_of_equals_comes_first_and_a_quotation_counts_less(room: Room) -> None:
    own = await room.post("News", "the plan is good")
    quoted = await room.post("News", "> the plan is good\n\nyes")
    newest = await room.post("News", "the plan is good")

    assert await room.ids("plan") == [newest, own, quoted]


async def test_a_snippet_shows_the_form_that_was_found(room: Room) -> None:
    await room.post("News", "word " * 100 + "the rotation of keys " + "word " * 100)

    (hit,) = await room.search("rotate")

    assert "rotation of keys" in hit.snippet


@pytest.mark.parametrize("query", ["parseTok", "parsetok", "arse_tok", "parseTok failed"])
@pytest.mark.parametrize("order", list(Order))
async def test_what_stands_inside_a_name_is_found_when_no_word_is(room: Room, query: str, order: Order) -> None:
    camel = await room.post("reparseToken failed")
    snake = await room.post("News", "sparse_token_set failed")
    await room.post("News", "no such name")

    found = await room.ids(query, order=order)

    assert found[0] == (snake if query.startswith("arse") else camel)
    assert len(found) == 1 or (query == "parseTok failed" and order is Order.RELEVANCE)


async def test_a_name_of_another_project_leads_to_none_of_its_mail(room: Room) -> None:
    seeded = room.seeded
    await room.post("reparseToken", sender=seeded.fox, to=[seeded.lib_blue])

    assert await room.ids("parseTok") == []
    assert await room.ids('"parseTok"', within=room.seeded.lib) == []
    assert await room.ids("parseTok", within=room.seeded.lib) != []


async def test_a_long_run_that_is_nowhere_finds_what_holds_its_pairs(room: Room) -> None:
    near = await room.post("News", "\u691c\u7d22\u306e\u6a5f\u80fd")
    await room.post("News", "\u5225\u306e\u8a71")

    assert await room.ids("\u691c\u7d22\u6a5f\u80fd") == [near]


async def test_of_few_messages_all_that_hold_one_of_the_words_are_found(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bound in ("CANDIDATES", "OTHER_CANDIDATES"):
        monkeypatch.setattr(search_module, bound, 1)
    ids = [await room.post("News", body, thread_id="TKT-7") for body in ("rotate", "keys", "rotate", "keys")]

    assert sorted(await room.ids("rotate keys", thread_id="TKT-7")) == ids
    assert len(await room.ids("rotate keys")) == 2


async def test_two_of_the_words_are_looked_for_further_than_one_but_not_without_end(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "OTHER_CANDIDATES", 1)
    query = "rotate signing keys"
    lost = await room.post("News", "rotate the keys")
    await room.seeded.store.write(
        lambda tx: (
            tx.messages._connection.execute(
                "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'messages'", (search_module.OTHER_REACH,)
            ).rowcount
        )
    )
    found = [await room.post("News", body) for body in ("rotate the keys", "rotate", "signing", "keys")]

    assert sorted(await room.ids(query)) == found
    assert lost < found[0] - search_module.OTHER_REACH


@pytest.mark.parametrize("query", ["plan", "pl*"])
async def test_a_larger_limit_shows_more_and_the_same_before_it(
    room: Room, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(search_module, "CANDIDATES", 5)
    monkeypatch.setattr(search_module, "WALKS", (20,))
    for number in range(30):
        subject = "The plan" if number % 7 == 0 else "News"
        await room.post(subject, "a plan" + ", the plan" * (number % 4))

    whole = await room.ids(query, limit=30)

    assert len(set(whole)) == 30
    for limit in (1, 4, 5, 6, 11, 20, 26):
        assert await room.ids(query, limit=limit) == whole[:limit]
