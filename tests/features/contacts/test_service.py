from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.clock import SECOND
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.contacts import ContactRules
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.contacts.results import ContactAnswered
from mcp_agent_mail.features.contacts.targets import ContactTarget
from mcp_agent_mail.store.transaction import Tx
from tests.features.contacts.harness import APP, LIB, ContactsHarness, open_contacts, refused
from tests.features.messaging.harness import OPERATOR

ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)


async def test_only_the_target_may_answer(tmp_path: Path) -> None:
    async with open_contacts(tmp_path) as harness:
        await harness.ask()
        pair = {"from_agent": "BlueLake", "to_agent": "RedStone", "accept": True}
        before = harness.everything()

        error = await refused(harness.call("respond_contact", harness.proof(harness.seeded.blue), **pair))
        harness.identities.auth = AgentAuth.STRICT
        nobody = await refused(harness.call("respond_contact", **pair))

        assert (error.code, nobody.code) == ("PERMISSION_DENIED", "AUTHENTICATION_REQUIRED")
        assert harness.everything() == before


async def test_the_overseers_own_policy_cannot_be_set(harness: ContactsHarness) -> None:
    setting = harness.call("set_contact_policy", OPERATOR, agent_name="Human", policy="block_all")

    assert (await refused(setting)).code == "PERMISSION_DENIED"


async def test_links_are_listed_outbound_first_each_with_its_own_side(harness: ContactsHarness) -> None:
    await harness.ask(target=f"QuietFox@{LIB}")
    await harness.ask(source="RedStone", target="BlueLake")
    await harness.ask(target="GreenField")

    links = await harness.links("BlueLake")

    assert [(one["direction"], one["from"], one["to"], one["project"]) for one in links] == [
        ("outbound", "BlueLake", "QuietFox", LIB),
        ("outbound", "BlueLake", "GreenField", APP),
        ("inbound", "RedStone", "BlueLake", APP),
    ]
    limited = await harness.call("list_contacts", agent_name="BlueLake", limit=2)
    assert limited == links[:2]


async def test_requests_that_wait_are_listed_for_the_target(harness: ContactsHarness) -> None:
    await harness.ask(ttl_seconds=60)
    await harness.ask(source="GreenField")
    harness.seeded.clock.step(60)

    waiting = await harness.call("contact_requests", Credentials(via="local"), agent_name="RedStone")

    assert [one["from"] for one in waiting] == ["GreenField"]


async def test_a_policy_is_archived_with_the_profile_and_kept_when_the_agent_comes_back(
    harness: ContactsHarness,
) -> None:
    await harness.policy("RedStone", "contacts_only")
    before = harness.rows("SELECT count(*) FROM outbox")

    await harness.policy("RedStone", "contacts_only")

    assert harness.rows("SELECT count(*) FROM outbox") == before
    ((snapshot,),) = harness.rows("SELECT snapshot FROM outbox WHERE kind = 'profile'")
    assert '"contact_policy":"contacts_only"' in snapshot


async def test_the_target_sees_who_waits_and_the_sender_for_whom_but_neither_the_body(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.send(body_md="the body")

    inbound, outbound = await harness.held("RedStone", "inbound"), await harness.held("BlueLake", "outbound")

    assert inbound == outbound
    assert [(one["from"], one["to"], one["subject"], one["code"]) for one in inbound] == [
        ("BlueLake", "RedStone", "Plan", "CONTACT_REQUIRED")
    ]
    assert "the body" not in str(inbound)


async def test_what_the_operator_does_is_no_agents_activity_and_no_agents_act_in_the_archive(
    harness: ContactsHarness,
) -> None:
    await harness.call("set_contact_policy", OPERATOR, agent_name="RedStone", policy="contacts_only")
    await harness.policy("RedStone", "open")

    assert harness.noted == ["RedStone"]
    acts = harness.rows("SELECT agent_id FROM outbox WHERE kind = 'profile' ORDER BY seq")
    assert acts == [(None,), (harness.seeded.red.id,)]


async def test_an_answer_is_yes_for_a_time_or_no_for_good_and_activity_of_who_gives_it(
    harness: ContactsHarness,
) -> None:
    await harness.ask()
    yes = await harness.answer(accept=True, ttl_seconds=60)
    no = await harness.answer(accept=False)

    assert (yes["status"], yes["expires_ts"]) == ("approved", "2027-01-15T08:01:00.000000+00:00")
    assert (no["status"], no["expires_ts"]) == ("blocked", None)
    assert harness.noted == ["BlueLake", "RedStone", "RedStone"]


async def test_the_retired_neither_ask_nor_answer(harness: ContactsHarness) -> None:
    seeded = harness.seeded
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.red.id, tx.now, tx.now))
    before = harness.everything()

    asked = await refused(harness.ask(source="RedStone", target="BlueLake"))
    answered = await refused(harness.answer(accept=True))

    assert (asked.code, answered.code) == ("CONFLICT", "CONFLICT")
    assert harness.everything() == before


async def test_a_link_that_would_not_let_mail_through_says_so(harness: ContactsHarness) -> None:
    await harness.ask(target=f"QuietFox@{LIB}")
    before = (await harness.links("BlueLake"))[0]["messageable"]

    await harness.answer(accept=True, project_key=LIB, target="QuietFox", from_project=APP)

    assert (before, (await harness.links("BlueLake"))[0]["messageable"]) == (False, True)


async def accept(
    harness: ContactsHarness, target: str, *, ttl_s: int = 3_600, to_project: str | None = None
) -> ContactAnswered | None:
    """BlueLake asks, and what the target's policy says to it."""
    wanted = ContactTarget(
        project_key=APP, from_agent="BlueLake", to_agent=target, to_project=to_project, register=None
    )

    def unit(tx: Tx) -> ContactAnswered | None:
        asked = harness.contacts.request_within(tx, ANYBODY, wanted, reason="", ttl_s=ttl_s)
        return harness.contacts.accept_within(tx, asked, ttl_s)

    return await harness.seeded.store.write(unit)


def until_s(harness: ContactsHarness, answered: ContactAnswered | None) -> float:
    """For how long it was accepted."""
    assert answered is not None
    contact = answered.answered.contact
    assert contact is not None
    assert contact.expires_ts is not None
    return (contact.expires_ts - harness.seeded.clock.now) / SECOND


async def test_who_would_be_let_in_anyway_is_accepted_for_the_time_asked(harness: ContactsHarness) -> None:
    answered = await accept(harness, "RedStone", ttl_s=3_600)

    assert until_s(harness, answered) == 3_600


async def test_where_the_target_wants_to_be_asked_nobody_answers_for_it(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")

    assert await accept(harness, "RedStone") is None
    assert await accept(harness, "QuietFox", to_project=LIB) is None
    assert await accept(harness, "Human") is None
    assert {link["status"] for link in await harness.links("BlueLake")} == {"pending"}


async def test_an_approval_that_the_target_gave_is_neither_shortened_nor_prolonged(harness: ContactsHarness) -> None:
    await harness.answer(accept=True, ttl_seconds=86_400)
    shorter = await accept(harness, "RedStone", ttl_s=3_600)
    await harness.policy("RedStone", "contacts_only")

    longer = await accept(harness, "RedStone", ttl_s=172_800)

    assert (until_s(harness, shorter), longer) == (86_400, None)


async def test_a_server_that_asks_nobody_answers_for_nobody(tmp_path: Path) -> None:
    async with open_contacts(tmp_path, ContactRules(enforced=False)) as harness:
        await harness.policy("RedStone", "contacts_only")

        assert await accept(harness, "RedStone") is None
