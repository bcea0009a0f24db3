from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import AutoScope, ContactRules
from mcp_agent_mail.domain.leases import LeaseKind, NewLease
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import stored_pattern
from tests.features.contacts.harness import APP, LIB, ContactsHarness, open_contacts, refused
from tests.features.messaging.harness import OPERATOR


@pytest.fixture
async def by_context(tmp_path: Path) -> AsyncIterator[ContactsHarness]:
    async with open_contacts(tmp_path, ContactRules(scope=AutoScope.CONTEXT)) as opened:
        yield opened


def is_held(answer: Any) -> bool:
    return bool(answer["held"])


async def lease(harness: ContactsHarness, agent: Agent, text: str, *, ttl: int = 60) -> None:
    pattern = stored_pattern(text)
    new = NewLease(
        project_id=agent.project_id,
        agent_id=agent.id,
        agent=agent.name,
        kind=LeaseKind.FILE,
        path_pattern=text,
        keys=keys_of(pattern),
        exclusive=False,
        reason="",
        expires_ts=Micros(harness.seeded.clock.now + ttl * SECOND),
    )
    await harness.seeded.store.write(lambda tx: tx.leases.add(new, tx.now))


async def test_auto_takes_mail_of_the_same_project_and_of_no_other(harness: ContactsHarness) -> None:
    assert not is_held(await harness.send())
    assert is_held(await harness.send(to=[f"QuietFox@{LIB}"]))


async def test_open_takes_mail_from_everywhere(harness: ContactsHarness) -> None:
    await harness.policy("QuietFox", "open", LIB)

    assert not is_held(await harness.send(to=[f"QuietFox@{LIB}"]))


async def test_an_answer_reaches_whoever_wrote(harness: ContactsHarness) -> None:
    await harness.policy("BlueLake", "contacts_only")
    message_id = (await harness.send())["deliveries"][0]["payload"]["id"]

    reply = await harness.call("reply_message", message_id=message_id, sender_name="RedStone", body_md="yes")

    assert not is_held(reply)
    assert not is_held(await harness.send(sender_name="RedStone", to=["BlueLake"], reply_to=message_id))
    assert is_held(await harness.send(sender_name="GreenField", to=["BlueLake"], reply_to=message_id))


async def test_a_reply_crosses_projects_only_as_the_answer_it_is(harness: ContactsHarness) -> None:
    await harness.policy("QuietFox", "open", LIB)
    message_id = (await harness.send(to=[f"QuietFox@{LIB}"]))["deliveries"][0]["payload"]["id"]
    given = {"project_key": LIB, "message_id": message_id, "sender_name": "QuietFox", "body_md": "yes"}

    back = await harness.call("reply_message", **given)
    further = await harness.call("reply_message", **given, to=[f"RedStone@{APP}"])

    assert (is_held(back), is_held(further)) == (False, True)


async def test_a_link_lets_in_whom_the_policy_does_not_and_a_denial_keeps_out_whom_it_would(
    harness: ContactsHarness,
) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.answer(accept=True)
    await harness.ask(target="GreenField")
    await harness.answer(accept=False, target="GreenField")

    assert not is_held(await harness.send())
    assert (await refused(harness.send(to=["GreenField"]))).code == "CONTACT_BLOCKED"


async def test_with_enforcement_off_only_block_all_is_left(tmp_path: Path) -> None:
    async with open_contacts(tmp_path, ContactRules(enforced=False)) as harness:
        await harness.ask()
        await harness.answer(accept=False)
        await harness.policy("RedStone", "contacts_only")
        await harness.policy("GreenField", "block_all")

        assert not is_held(await harness.send(to=["RedStone", f"QuietFox@{LIB}"]))
        assert (await refused(harness.send(to=["GreenField"]))).code == "CONTACT_BLOCKED"


async def test_in_context_a_stranger_of_the_same_project_is_held(by_context: ContactsHarness) -> None:
    assert is_held(await by_context.send())


async def test_a_made_up_thread_opens_nothing(by_context: ContactsHarness) -> None:
    assert is_held(await by_context.send(thread_id="TKT-1"))
    assert is_held(await by_context.send(thread_id="TKT-1"))


async def test_a_thread_opens_the_way_between_those_who_both_took_part_in_it(by_context: ContactsHarness) -> None:
    harness = by_context
    await harness.policy("BlueLake", "open")
    await harness.send(sender_name="RedStone", to=["BlueLake"], thread_id="TKT-1")
    assert not is_held(await harness.send(to=["RedStone"], thread_id="TKT-1"))


async def test_a_thread_in_which_one_alone_took_part_opens_nothing(by_context: ContactsHarness) -> None:
    harness = by_context
    await harness.policy("BlueLake", "open")
    await harness.send(sender_name="GreenField", to=["BlueLake"], thread_id="TKT-1")

    assert is_held(await harness.send(to=["RedStone"], thread_id="TKT-1"))


async def test_a_thread_named_by_a_message_counts_that_message(by_context: ContactsHarness) -> None:
    harness = by_context
    for name in ("RedStone", "BlueLake"):
        await harness.policy(name, "open")
    root = (await harness.send(sender_name="GreenField", to=["RedStone"], cc=["BlueLake"]))["deliveries"][0]["payload"][
        "id"
    ]
    for name in ("RedStone", "BlueLake"):
        await harness.policy(name, "auto")

    assert not is_held(await harness.send(thread_id=str(root)))


async def test_a_blind_copy_is_no_part_in_a_thread_because_what_it_opens_would_tell_of_it(
    by_context: ContactsHarness,
) -> None:
    harness = by_context
    for name in ("RedStone", "BlueLake"):
        await harness.policy(name, "open")
    await harness.send(sender_name="GreenField", to=["BlueLake"], bcc=["RedStone"], thread_id="TKT-1")
    await harness.policy("RedStone", "auto")

    assert is_held(await harness.send(thread_id="TKT-1"))


async def test_held_mail_is_no_part_in_a_thread(by_context: ContactsHarness) -> None:
    harness = by_context
    await harness.policy("RedStone", "open")
    await harness.send(sender_name="GreenField", to=["RedStone"], thread_id="TKT-1")
    await harness.policy("RedStone", "auto")
    await harness.send(thread_id="TKT-1")

    assert is_held(await harness.send(thread_id="TKT-1"))


async def test_overlapping_reservations_open_the_way_while_they_last(by_context: ContactsHarness) -> None:
    harness = by_context
    await lease(harness, harness.seeded.blue, "src/**")
    await lease(harness, harness.seeded.red, "src/app.py")
    await lease(harness, harness.seeded.green, "docs/**")

    assert not is_held(await harness.send())
    assert is_held(await harness.send(to=["GreenField"]))
    harness.seeded.clock.step(60)
    assert is_held(await harness.send())


async def test_reservations_of_two_projects_have_nothing_in_common(by_context: ContactsHarness) -> None:
    harness = by_context
    await lease(harness, harness.seeded.blue, "src/**")
    await lease(harness, harness.seeded.fox, "src/**")

    assert is_held(await harness.send(to=[f"QuietFox@{LIB}"]))


async def test_recent_mail_in_both_directions_opens_the_way_for_its_time(by_context: ContactsHarness) -> None:
    harness = by_context
    await harness.policy("RedStone", "open")
    first = (await harness.send())["deliveries"][0]["payload"]["id"]
    await harness.policy("RedStone", "auto")
    assert is_held(await harness.send(subject="one direction"))
    await harness.call("reply_message", message_id=first, sender_name="RedStone", body_md="yes")

    assert not is_held(await harness.send(subject="both"))
    harness.seeded.clock.step(86_400)
    assert is_held(await harness.send(subject="too long ago"))


async def _wrote_to_each_other(harness: ContactsHarness) -> None:
    """BlueLake and QuietFox, of two projects, while both took mail from everywhere."""
    for policy in ("open", "auto"):
        await harness.policy("QuietFox", policy, LIB)
        await harness.policy("BlueLake", policy)
        if policy == "open":
            assert not is_held(await harness.send(to=[f"QuietFox@{LIB}"]))
            answer = await harness.send(project_key=LIB, sender_name="QuietFox", to=[f"BlueLake@{APP}"])
            assert not is_held(answer)


async def test_who_wrote_to_each_other_goes_on_where_auto_looks_at_the_context(by_context: ContactsHarness) -> None:
    await _wrote_to_each_other(by_context)

    assert not is_held(await by_context.send(to=[f"QuietFox@{LIB}"]))


async def test_by_project_alone_it_does_not_matter_who_wrote_to_each_other(harness: ContactsHarness) -> None:
    await _wrote_to_each_other(harness)

    assert is_held(await harness.send(to=[f"QuietFox@{LIB}"]))


async def test_the_overseer_is_heard_and_may_be_written_to_by_everyone(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")

    sent = await harness.send(OPERATOR, sender_name="Human")
    back = await harness.send(sender_name="BlueLake", to=["Human", f"Human@{LIB}"])

    assert (sent["held"], back["held"]) == ([], [])
