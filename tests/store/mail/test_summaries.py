from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import intro_subject
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.domain.summaries.digests import Newest
from mcp_agent_mail.domain.summaries.extract import ThreadMail
from mcp_agent_mail.store.engine.sqlite.long_reads import ReadTooLong
from mcp_agent_mail.store.mail.summaries import (
    READ_CHARACTERS,
    RecentMail,
    read_recent,
    read_thread_of_projects,
    read_threads,
)
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def post(
    seeded: SeededStore,
    *,
    sender: Agent | None = None,
    to: Agent | None = None,
    held: bool = False,
    kind: RecipientKind = RecipientKind.TO,
    thread_id: str | None = "T",
    **more: Any,
) -> MessageId:
    """From BlueLake to RedStone in thread T unless said otherwise; a second after the one before."""
    seeded.clock.step()
    letter = replace(seeded.letter(sender or seeded.blue, thread_id=thread_id), **more)
    (recipient,) = seeded.addressed([to or seeded.red], kind)
    message, _ = await seeded.post(letter, replace(recipient, held_code="CONTACT_REQUIRED" if held else None))
    return message.id


async def thread(seeded: SeededStore, thread_id: str = "T", limit: int = 9) -> ThreadMail:
    (found,) = await read_threads(seeded.store, seeded.app.id, [thread_id], limit=limit)
    return found


async def recent(seeded: SeededStore, since: int, limit: int = 9) -> RecentMail | None:
    return await read_recent(seeded.store, seeded.app.id, Micros(since), limit=limit)


def ids(mail: ThreadMail | RecentMail | None) -> list[int]:
    assert mail is not None
    return [message.id for message in mail.messages]


async def test_a_thread_is_read_oldest_first_its_newest_messages_and_all_are_counted(seeded: SeededStore) -> None:
    sent = [await post(seeded) for _ in range(4)]
    await post(seeded, thread_id="other")

    found = await thread(seeded, limit=3)

    assert (ids(found), found.total, found.thread_id) == (sent[1:], 4, "T")


async def test_each_thread_asked_for_is_answered_in_its_place(seeded: SeededStore) -> None:
    one, other = await post(seeded, thread_id="one"), await post(seeded, thread_id="other")

    found = await read_threads(seeded.store, seeded.app.id, ["other", "none", "one"], limit=9)

    assert [(mail.thread_id, ids(mail)) for mail in found] == [("other", [other]), ("none", []), ("one", [one])]


async def test_a_thread_named_by_a_message_begins_with_it_however_few_are_read(seeded: SeededStore) -> None:
    root = await post(seeded, thread_id=None)
    replies = [await post(seeded, thread_id=str(root)) for _ in range(3)]

    assert ids(await thread(seeded, str(root))) == [root, *replies]
    assert ids(await thread(seeded, str(root), limit=2)) == [root, replies[-1]]
    assert ids(await thread(seeded, str(root), limit=1)) == [root]
    assert (await thread(seeded, str(root), limit=1)).total == 4


async def test_mail_that_only_some_may_read_is_in_no_summary(seeded: SeededStore) -> None:
    shown = await post(seeded)
    await post(seeded, held=True)
    await post(seeded, sender=seeded.fox, to=seeded.red, kind=RecipientKind.BCC)
    await post(seeded, is_private=True)

    assert ids(await thread(seeded)) == [shown]
    assert ids(await recent(seeded, 0)) == [shown]


async def test_a_sender_of_another_project_is_named_with_it(seeded: SeededStore) -> None:
    await post(seeded)
    await post(seeded, sender=seeded.fox)

    assert [message.sender for message in (await thread(seeded)).messages] == ["BlueLake", "QuietFox@code-lib"]


async def test_tombstones_are_marked_and_long_bodies_are_cut(seeded: SeededStore) -> None:
    purged = await post(seeded)
    await post(seeded, body_md="\u00fc" * (READ_CHARACTERS + 1))
    sql = "UPDATE messages SET purged_ts = 1, body_md = '' WHERE id = ?"
    await seeded.store.write(lambda tx: tx.messages._connection.execute(sql, (purged,)))

    tombstone, letter = (await thread(seeded)).messages

    assert (tombstone.is_tombstone, letter.is_tombstone) == (True, False)
    assert [len(message.body_md) for message in (tombstone, letter)] == [0, READ_CHARACTERS]


async def test_the_mail_of_system_is_left_out_and_takes_nobodys_place(seeded: SeededStore) -> None:
    sent = [await post(seeded) for _ in range(2)]
    for _ in range(3):
        await post(seeded, is_system=True)
    both = [seeded.app.id, seeded.lib.id]

    one = await thread(seeded, limit=2)
    several = await read_thread_of_projects(seeded.store, both, "T", limit=2)
    newest = await recent(seeded, 0, limit=2)

    assert (ids(one), one.total) == (ids(several), several.total) == (sent, 2)
    assert ids(newest) == sent
    assert newest is not None
    assert newest.newest.message_id == sent[-1]


async def test_where_only_system_wrote_there_was_no_mail(seeded: SeededStore) -> None:
    await post(seeded, is_system=True)

    assert await recent(seeded, 0) is None


async def test_an_introduction_is_left_out_where_a_thread_begins_with_it_and_of_what_is_new(
    seeded: SeededStore,
) -> None:
    subject, body = intro_subject("BlueLake"), "`respond_contact(accept=true)`"
    root = await post(seeded, thread_id=None, subject=subject, body_md=body)
    assert await recent(seeded, 0) is None
    answer = await post(seeded, thread_id=str(root), subject=f"Re: {subject}", body_md=body)
    await post(seeded, thread_id=None, subject=subject, body_md=body)
    both = [seeded.app.id, seeded.lib.id]

    one = await thread(seeded, str(root), limit=2)
    several = await read_thread_of_projects(seeded.store, both, str(root), limit=2)
    newest = await recent(seeded, 0)

    assert (ids(one), one.total) == (ids(several), several.total) == ([answer], 1)
    assert ids(newest) == [answer]
    assert newest is not None
    assert newest.newest.message_id == answer


async def test_a_thread_of_several_projects_has_each_message_once_and_its_root(seeded: SeededStore) -> None:
    root = await post(seeded, thread_id=None, to=seeded.fox)
    inside = await post(seeded, thread_id=str(root))
    there = await post(seeded, thread_id=str(root), sender=seeded.fox, to=seeded.lib_blue)
    both = [seeded.app.id, seeded.lib.id]

    found = await read_thread_of_projects(seeded.store, both, str(root), limit=9)
    newest = await read_thread_of_projects(seeded.store, both, str(root), limit=2)
    of_one = await read_thread_of_projects(seeded.store, both[:1], str(root), limit=9)

    assert (ids(found), found.total) == ([root, inside, there], 3)
    assert (ids(newest), newest.total) == ([inside, there], 3)
    assert (ids(of_one), of_one.total) == ([root, inside], 2)


async def test_only_senders_of_one_name_are_told_apart_by_their_projects(seeded: SeededStore) -> None:
    for sender in (seeded.blue, seeded.lib_blue, seeded.fox):
        await post(seeded, sender=sender)

    found = await read_thread_of_projects(seeded.store, [seeded.app.id, seeded.lib.id], "T", limit=9)

    assert [message.sender for message in found.messages] == ["BlueLake@code-app", "BlueLake@code-lib", "QuietFox"]


async def test_recent_mail_is_what_came_after_the_time_and_none_when_none_did(seeded: SeededStore) -> None:
    await post(seeded)
    at = seeded.clock.now
    later = [await post(seeded) for _ in range(3)]

    found = await recent(seeded, at)

    assert ids(found) == later
    assert found is not None
    assert found.newest == Newest(message_id=later[-1], delivered_ts=seeded.clock.now)
    assert ids(await recent(seeded, at, limit=2)) == later[1:]
    assert await recent(seeded, seeded.clock.now) is None


async def test_mail_that_was_held_is_recent_from_its_delivery_on(seeded: SeededStore) -> None:
    late = await post(seeded, to=seeded.fox, held=True)
    early = await post(seeded)
    at = seeded.clock.now
    seeded.clock.step()

    await seeded.store.write(lambda tx: tx.held.deliver(seeded.blue.id, seeded.fox.id, tx.now))

    found = await recent(seeded, at)
    assert ids(found) == [late]
    assert found is not None
    assert found.newest == Newest(message_id=late, delivered_ts=seeded.clock.now)
    assert ids(await recent(seeded, 0)) == [late, early]


async def test_summaries_of_threads_end_with_their_time(seeded: SeededStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeded.store._long_reads, "_time_bound_s", 0.0)

    with pytest.raises(ReadTooLong):
        await read_threads(seeded.store, seeded.app.id, ["one", "two"], limit=9)
