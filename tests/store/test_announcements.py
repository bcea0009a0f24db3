from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.hooks.announcements import ImportanceBound, UnreadCopy
from mcp_agent_mail.domain.messages import Importance, RecipientKind
from mcp_agent_mail.domain.presence import SessionName
from mcp_agent_mail.store import announcements as rows
from mcp_agent_mail.store.transaction import Tx, View
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


def named(session: str, *, is_proven: bool = False) -> SessionName:
    return SessionName(session, is_proven)


async def post(seeded: SeededStore, importance: Importance = Importance.NORMAL) -> MessageId:
    message, _ = await seeded.post(seeded.letter(seeded.blue, importance=importance), *seeded.addressed([seeded.red]))
    return message.id


async def tellable(seeded: SeededStore, session: str, limit: int = 100) -> list[UnreadCopy]:
    def look(view: View) -> list[UnreadCopy]:
        session_id = view.announcements.find_session(seeded.red.id, named(session))
        return view.announcements.tellable(seeded.red.id, session_id, ImportanceBound.ANY, limit, without_stops=None)

    return await seeded.store.read(look)


async def give(
    seeded: SeededStore, session: str, copies: list[UnreadCopy], claim: str = "c" * 32, *, is_proven: bool = False
) -> None:
    name = named(session, is_proven=is_proven)
    await seeded.store.write(lambda tx: tx.announcements.give(seeded.red.id, name, copies, claim, tx.now))


async def sessions(seeded: SeededStore) -> list[str]:
    names = {named(name, is_proven=is_proven).hash: name for name in "abcdxyz" for is_proven in (True, False)}
    return sorted(names[found] for (found,) in seeded.store._reading.execute("SELECT session_hash FROM hook_sessions"))


async def test_each_session_is_given_what_it_was_not_given_before(seeded: SeededStore) -> None:
    first, second = await post(seeded), await post(seeded, Importance.HIGH)
    copies = await tellable(seeded, "a")
    await give(seeded, "a", copies[:1])

    left, others = await tellable(seeded, "a"), await tellable(seeded, "b")

    assert [one.message_id for one in copies] == [second, first]
    assert [one.message_id for one in left] == [first]
    assert others == copies


async def test_the_same_copy_cannot_be_given_to_a_session_twice(seeded: SeededStore) -> None:
    await post(seeded)
    copies = await tellable(seeded, "a")
    await give(seeded, "a", copies)

    with pytest.raises(sqlite3.IntegrityError):
        await give(seeded, "a", copies, "d" * 32)


async def test_blind_copies_are_told_and_held_ones_are_not(seeded: SeededStore) -> None:
    letter = seeded.letter(seeded.blue)
    blind, _ = await seeded.post(letter, *seeded.addressed([seeded.red], RecipientKind.BCC))
    (held,) = seeded.addressed([seeded.red])
    await seeded.post(letter, type(held)(agent=held.agent, project=held.project, kind=held.kind, held_code="policy"))

    assert [one.message_id for one in await tellable(seeded, "a")] == [blind.id]


async def test_of_an_agent_the_sessions_that_were_given_something_last_are_remembered(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MAX_SESSIONS", 3)
    await post(seeded)
    copies = await tellable(seeded, "a")
    for name in ("a", "b", "c"):
        await give(seeded, name, copies)
        seeded.clock.step(-60)  # Whichever was last is last, whatever the clock says.
    more = await post(seeded)
    again = [one for one in await tellable(seeded, "a") if one.message_id == more]

    await give(seeded, "a", again)
    await give(seeded, "d", copies)

    assert await sessions(seeded) == ["a", "c", "d"]
    assert seeded.store._reading.execute("SELECT count(*) FROM announcements").fetchone() == (4,)
    assert [one.message_id for one in await tellable(seeded, "b")] == [copies[0].message_id, more]


async def test_sessions_without_proof_push_none_out_that_was_heard_with_it(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MAX_SESSIONS", 2)
    await post(seeded)
    copies = await tellable(seeded, "a")
    await give(seeded, "a", copies, is_proven=True)
    for name in ("x", "y", "z"):
        await give(seeded, name, copies)
    without = await sessions(seeded)
    for name in ("b", "c"):
        await give(seeded, name, copies, is_proven=True)

    assert without == ["a", "y", "z"]
    assert await sessions(seeded) == ["b", "c", "y", "z"]


async def test_a_session_that_is_full_forgets_what_is_unread_no_more_and_settled(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MAX_GIVEN", 3)
    for _ in range(3):
        await post(seeded)
    first, second, third = await tellable(seeded, "a")
    await give(seeded, "a", [first], "1" * 32)
    await give(seeded, "a", [second], "2" * 32)
    await give(seeded, "a", [third], "3" * 32)

    def settle(tx: Tx) -> tuple[int, int]:
        session_id = tx.announcements.find_session(seeded.red.id, named("a"))
        assert session_id is not None
        tx.announcements.confirm(session_id, "1" * 32, tx.now)
        tx.announcements.confirm(session_id, "2" * 32, tx.now)
        tx.announcements.show(session_id, tx.now)
        tx.inboxes.mark_read(seeded.red.id, first.message_id, tx.now)
        tx.inboxes.mark_read(seeded.red.id, third.message_id, tx.now)
        before = tx.announcements.room(session_id)
        tx.announcements.make_room(session_id)
        return before, tx.announcements.room(session_id)

    assert await seeded.store.write(settle) == (0, 1)
    assert [one.message_id for one in await tellable(seeded, "a")] == []
    found = seeded.store._reading.execute("SELECT message_id FROM announcements ORDER BY message_id").fetchall()
    assert found == [(second.message_id,), (third.message_id,)]


async def test_what_goes_is_told_no_more_in_its_session_and_goes_in_pieces(seeded: SeededStore) -> None:
    for _ in range(4):
        await post(seeded)
    copies = await tellable(seeded, "a")
    await give(seeded, "a", [copies[0], copies[2]])
    last = copies[2].delivery_seq

    more = [await seeded.store.write(lambda tx: tx.announcements.forget(last, 1)) for _ in range(3)]

    assert more == [True, True, False]
    assert await tellable(seeded, "a") == [copies[3]]
    assert await tellable(seeded, "b") == copies


async def test_a_claim_is_its_sessions_and_says_once_what_is_new(seeded: SeededStore) -> None:
    first, second = await post(seeded), await post(seeded)
    await give(seeded, "a", await tellable(seeded, "a"))

    def confirm(tx: Tx) -> list[object]:
        session_id = tx.announcements.find_session(seeded.red.id, named("a"))
        assert session_id is not None
        told = [tx.announcements.confirm(session_id, claim, tx.now) for claim in ("c" * 32, "c" * 32, "d" * 32)]
        unshown = tx.announcements.unshown(session_id)
        tx.announcements.show(session_id, tx.now)
        return [*told, unshown, tx.announcements.unshown(session_id)]

    assert await seeded.store.write(confirm) == [[first, second], [], None, [first, second], []]


@pytest.mark.parametrize("name", ["_TELLABLE_URGENT", "_TELLABLE_OTHERS", "_STOP"])
async def test_what_may_be_told_is_found_along_the_index_of_unread_mail(seeded: SeededStore, name: str) -> None:
    key = {"agent": 1, "session": 1, "importance": "urgent", "limit": 3, "without_stops": 0, "after": 0}
    key |= {"agents": 1, "proven": 0}

    plan = seeded.store._reading.execute(f"EXPLAIN QUERY PLAN {getattr(rows, name)}", key).fetchall()

    steps = [step for *_, step in plan]
    assert not any("SCAN" in step or "TEMP B-TREE" in step for step in steps), steps
    assert any("recipients_u" in step for step in steps)
