"""Whoever follows a thread by its cursor gets all of it once: also mail that was held and approved late."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from mcp_agent_mail.core.errors import NotFound
from tests.features.contacts.harness import ContactsHarness, refused
from tests.features.messaging.harness import APP

THREAD = f"thread/T?project={APP}"


async def page(harness: ContactsHarness, after_id: int, limit: int = 1_000) -> Any:
    return await harness.read(f"{THREAD}&limit={limit}&after_id={after_id}")


async def hold(harness: ContactsHarness, sender: str, subject: str) -> None:
    sent = await harness.send(sender_name=sender, subject=subject, thread_id="T")
    assert sent["held"] != []


async def test_held_mail_that_is_approved_late_is_found_by_who_follows(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await hold(harness, "BlueLake", "late")
    await harness.send(to=["GreenField"], subject="soon", thread_id="T")
    (soon,) = (await page(harness, 0))["messages"]
    harness.seeded.clock.step(-3_600)

    await harness.answer(accept=True)
    newer = await page(harness, soon["id"])

    assert [one["subject"] for one in newer["messages"]] == ["late"]
    assert newer["messages"][0]["id"] < soon["id"]
    assert [one["subject"] for one in (await page(harness, 0))["messages"]] == ["soon", "late"]
    assert (await page(harness, newer["messages"][0]["id"]))["messages"] == []


async def test_pages_go_on_where_the_last_one_ended(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    for number in range(3):
        await hold(harness, "BlueLake", f"late {number}")
    for number in range(3):
        await harness.send(to=["GreenField"], subject=f"soon {number}", thread_id="T")
    await harness.answer(accept=True)

    after: int | None = 0
    seen: list[str] = []
    sizes: list[int] = []
    while after is not None:
        got = await page(harness, after, limit=2)
        seen += [one["subject"] for one in got["messages"]]
        sizes.append(len(got["messages"]))
        after = got["next_after_id"]

    assert seen == [f"soon {number}" for number in range(3)] + [f"late {number}" for number in range(3)]
    assert sizes == [2, 2, 2]


async def test_the_message_that_was_answered_is_followed_as_well(harness: ContactsHarness) -> None:
    """It may come late itself: an answer to one of its recipients is there before another one has approved it."""
    sent = await harness.send(to=["GreenField"], subject="root")
    root = sent["deliveries"][0]["payload"]["id"]
    await harness.call("reply_message", sender_name="GreenField", message_id=root, body_md="")

    whole = await harness.read(f"thread/{root}?project={APP}")
    rest = await harness.read(f"thread/{root}?project={APP}&after_id={root}")

    assert [one["subject"] for one in whole["messages"]] == ["root", "Re: root"]
    assert [one["subject"] for one in rest["messages"]] == ["Re: root"]


async def test_a_cursor_that_is_no_mail_of_the_project_is_refused_and_tells_nothing(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await hold(harness, "BlueLake", "late")
    await harness.send(to=["GreenField"], thread_id="T")

    held, never = [await refused(page(harness, message_id)) for message_id in (1, 999)]

    assert isinstance(held, NotFound)
    assert str(held).replace("1 ", "999 ") == str(never)


@pytest.mark.parametrize("seed", range(8))
async def test_who_follows_while_approvals_race_gets_everything_once(harness: ContactsHarness, seed: int) -> None:
    chance = random.Random(seed)
    await harness.policy("RedStone", "contacts_only")
    await harness.policy("GreenField", "contacts_only")
    followed: list[int] = []

    async def follow() -> None:
        after = followed[-1] if followed else 0
        try:
            got = await page(harness, after, limit=chance.choice((1, 2, 50)))
        except NotFound:
            assert not followed, "a thread that was there is gone"
            return
        followed.extend(one["id"] for one in got["messages"])

    async def step() -> None:
        harness.seeded.clock.step(chance.choice((-60, 0, 0, 1)))
        what = chance.choice(("hold", "hold", "send", "approve"))
        source, target = chance.choice((("BlueLake", "RedStone"), ("BlueLake", "GreenField")))
        if what == "approve":
            await harness.answer(accept=True, source=source, target=target, ttl_seconds=60)
        elif what == "send":
            await harness.send(to=["BlueLake"], sender_name="GreenField", thread_id="T")
        else:
            await harness.send(to=[target], thread_id="T")

    for _ in range(25):
        await asyncio.gather(*(step() for _ in range(chance.randint(1, 3))), follow())
    for source, target in (("BlueLake", "RedStone"), ("BlueLake", "GreenField")):
        await harness.answer(accept=True, source=source, target=target)
    while (before := len(followed)) >= 0:
        await follow()
        if len(followed) == before:
            break

    open_mail = harness.rows("SELECT message_id FROM message_projects WHERE thread_id = 'T' ORDER BY message_id")
    assert sorted(followed) == [message_id for (message_id,) in open_mail]
    assert len(followed) > 0
