from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.contacts import MAX_REQUESTS_OF_TARGET
from mcp_agent_mail.domain.identity.caller import AgentAuth
from tests.features.contacts.harness import APP, LIB, ContactsHarness, open_contacts, refused
from tests.features.messaging.harness import OPERATOR


async def test_a_request_is_pending_and_tells_the_target_how_to_answer(harness: ContactsHarness) -> None:
    answer = await harness.ask(reason="the parser\nis yours")

    assert answer == {
        "from": "BlueLake",
        "from_project": APP,
        "to": "RedStone",
        "to_project": APP,
        "status": "pending",
        "expires_ts": "2027-01-22T08:00:00.000000+00:00",
        "verified": False,
    }
    (intro,) = await harness.call("fetch_inbox", agent_name="RedStone", include_bodies=True)
    assert (intro["subject"], intro["ack_required"]) == ("Contact request from BlueLake", True)
    assert "> the parser\n> is yours\n" in intro["body_md"]
    assert (
        'respond_contact(project_key="/code/app", to_agent="RedStone", from_agent="BlueLake", accept=true)'
        in intro["body_md"]
    )
    assert harness.noted == ["BlueLake", "RedStone"]


async def test_the_intro_passes_every_policy_but_block_all(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.policy("GreenField", "block_all")
    await harness.ask()
    before = harness.everything()

    error = await refused(harness.ask(target="GreenField"))

    assert await harness.subjects("RedStone") == ["Contact request from BlueLake"]
    assert error.code == "CONTACT_BLOCKED"
    assert harness.everything() == before


async def test_a_repeat_refreshes_the_request_without_a_second_intro(harness: ContactsHarness) -> None:
    first = await harness.ask(reason="one", ttl_seconds=3600)
    harness.seeded.clock.step(60)

    again = await harness.ask(reason="two", ttl_seconds=3600)

    assert again["status"] == "pending"
    assert again["expires_ts"] > first["expires_ts"]
    assert [link["reason"] for link in await harness.links("BlueLake")] == ["two"]
    assert len(await harness.subjects("RedStone")) == 1


async def test_a_request_after_one_that_expired_is_a_new_one(harness: ContactsHarness) -> None:
    await harness.ask(ttl_seconds=60)
    harness.seeded.clock.step(60)
    assert [link["status"] for link in await harness.links("BlueLake")] == ["expired"]

    await harness.ask()

    assert [link["status"] for link in await harness.links("BlueLake")] == ["pending"]
    assert len(await harness.subjects("RedStone")) == 2


async def test_a_repeated_request_never_weakens_an_approval(harness: ContactsHarness) -> None:
    approved = await harness.answer(accept=True, ttl_seconds=31_536_000)

    again = await harness.ask(ttl_seconds=60)

    assert (again["status"], again["expires_ts"]) == ("approved", approved["expires_ts"])


async def test_a_ttl_below_a_minute_counts_as_one(harness: ContactsHarness) -> None:
    assert (await harness.ask(ttl_seconds=1))["expires_ts"] == "2027-01-15T08:01:00.000000+00:00"


async def test_a_denial_stands_against_requests_and_against_mail(harness: ContactsHarness) -> None:
    await harness.ask()
    await harness.answer(accept=False)
    before = harness.everything()

    asked, sent = await refused(harness.ask()), await refused(harness.send())

    assert (asked.code, sent.code) == ("CONTACT_BLOCKED", "CONTACT_BLOCKED")
    assert harness.everything() == before
    assert [(link["status"], link["messageable"]) for link in await harness.links("BlueLake")] == [("blocked", False)]


async def test_the_denier_changes_its_mind_by_answering_again(harness: ContactsHarness) -> None:
    await harness.ask()
    await harness.answer(accept=False)

    await harness.answer(accept=True)
    await harness.send()

    assert await harness.subjects("RedStone") == ["Contact request from BlueLake", "Plan"]


async def test_the_denier_lifts_its_denial_by_writing_to_that_sender(harness: ContactsHarness) -> None:
    await harness.ask()
    await harness.answer(accept=False)
    await harness.send(sender_name="RedStone", to=["GreenField"])
    assert (await refused(harness.send())).code == "CONTACT_BLOCKED"

    await harness.send(sender_name="RedStone", to=["BlueLake"], subject="Sorry")
    await harness.send()

    assert await harness.subjects("RedStone") == ["Contact request from BlueLake", "Plan"]
    assert [link["status"] for link in await harness.links("BlueLake")] == ["expired"]


async def test_asking_the_denied_sender_for_a_contact_lifts_the_denial_too(harness: ContactsHarness) -> None:
    await harness.ask()
    await harness.answer(accept=False)

    await harness.ask(source="RedStone", target="BlueLake")

    assert (await harness.send())["held"] == []


async def test_a_broadcast_of_the_denier_lifts_nothing(harness: ContactsHarness) -> None:
    await harness.ask()
    await harness.answer(accept=False)

    await harness.send(sender_name="RedStone", to=None, broadcast=True)

    assert (await refused(harness.send())).code == "CONTACT_BLOCKED"


async def test_denying_an_approval_takes_it_back(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.answer(accept=True)

    answer = await harness.answer(accept=False)

    assert (answer["status"], answer["updated"]) == ("blocked", 1)
    assert (await refused(harness.send())).code == "CONTACT_BLOCKED"


async def test_denying_without_a_request_changes_nothing(harness: ContactsHarness) -> None:
    before = harness.everything()

    answer = await harness.answer(accept=False)

    assert (answer["approved"], answer["status"], answer["expires_ts"], answer["updated"]) == (False, "none", None, 0)
    assert harness.everything() == before


async def test_accepting_without_a_request_makes_the_link_in_one_direction(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.policy("BlueLake", "contacts_only")

    await harness.answer(accept=True)

    links = await harness.links("RedStone")
    assert [(one["direction"], one["from"], one["to"], one["status"], one["messageable"]) for one in links] == [
        ("inbound", "BlueLake", "RedStone", "approved", True)
    ]
    assert (await harness.send())["held"] == []
    assert (await harness.send(sender_name="RedStone", to=["BlueLake"]))["held"] != []


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


async def test_an_expired_link_is_no_link_from_that_instant_on(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.answer(accept=True, ttl_seconds=60)
    harness.seeded.clock.step(59.999999)
    assert (await harness.send())["held"] == []

    harness.seeded.clock.step(0.000001)

    assert (await harness.send())["held"] != []


async def test_a_missing_target_is_registered_in_a_project_that_exists(harness: ContactsHarness) -> None:
    answer = await harness.ask(target="NewComer", to_project=LIB, program="codex", task_description="tests")

    assert (answer["to"], answer["to_project"], answer["status"]) == ("NewComer", LIB, "pending")
    (row,) = harness.rows("SELECT program, model, task_description, token_hash FROM agents WHERE name = 'NewComer'")
    assert row == ("codex", "unknown", "tests", None)


async def test_a_missing_target_or_project_is_refused_and_leaves_no_trace(harness: ContactsHarness) -> None:
    before = harness.everything()

    unasked = await refused(harness.ask(target="NewComer", register_if_missing=False))
    nowhere = await refused(harness.ask(target="NewComer", to_project="/code/nowhere"))
    unfit = await refused(harness.ask(target="new comer"))

    assert (unasked.code, nowhere.code, unfit.code) == ("RECIPIENT_NOT_FOUND", "NOT_FOUND", "INVALID_INPUT")
    assert harness.everything() == before


@pytest.mark.parametrize(
    "target",
    [{"target": f"QuietFox@{LIB}"}, {"target": "project:code-lib#quietfox"}, {"target": "QuietFox", "to_project": LIB}],
)
async def test_a_target_elsewhere_is_named_by_address_or_by_project(
    harness: ContactsHarness, target: dict[str, str]
) -> None:
    answer = await harness.ask(**target)

    assert (answer["to"], answer["to_project"]) == ("QuietFox", LIB)
    (intro,) = await harness.call("fetch_inbox", project_key=LIB, agent_name="QuietFox", include_bodies=True)
    assert 'from_project="/code/app"' in intro["body_md"]


async def test_an_address_and_another_project_beside_it_contradict_each_other(harness: ContactsHarness) -> None:
    assert (await refused(harness.ask(target=f"QuietFox@{LIB}", to_project=APP))).code == "INVALID_INPUT"


async def test_nobody_asks_itself_system_or_a_retired_agent(harness: ContactsHarness) -> None:
    await harness.seeded.store.write(lambda tx: tx.agents.set_retired(harness.seeded.green.id, tx.now, tx.now))

    errors = [await refused(harness.ask(target=name)) for name in ("BlueLake", "System", "GreenField")]

    assert [error.code for error in errors] == ["INVALID_INPUT", "RECIPIENT_NOT_FOUND", "RECIPIENT_RETIRED"]


async def test_the_overseer_is_heard_and_may_be_written_to_by_everyone(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")

    sent = await harness.send(OPERATOR, sender_name="Human")
    back = await harness.send(sender_name="BlueLake", to=["Human", f"Human@{LIB}"])

    assert (sent["held"], back["held"]) == ([], [])


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


async def test_so_many_requests_wait_for_one_agent_and_no_more(harness: ContactsHarness) -> None:
    await harness.seeded.store.write(
        lambda tx: tx.contacts._connection.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "INSERT INTO agents (project_id, kind, name, name_key, program, model, task_description, inception_ts, "
            "last_active_ts, profiled_ts) SELECT 1, 'agent', 'A' || i, 'a' || i, 'p', 'm', '', 1, 1, 1 FROM n",
            (MAX_REQUESTS_OF_TARGET,),
        )
    )
    await harness.seeded.store.write(
        lambda tx: tx.contacts._connection.execute(
            "INSERT INTO contacts (source_id, target_id, status, reason, created_ts, updated_ts, expires_ts) "
            "SELECT id, ?, 'pending', '', 1, 1, ? FROM agents WHERE program = 'p'",
            (harness.seeded.red.id, harness.seeded.clock.now + 1),
        )
    )

    assert (await refused(harness.ask())).code == "QUOTA_EXCEEDED"
    harness.seeded.clock.step()
    assert (await harness.ask())["status"] == "pending"


async def test_system_is_nobody_to_ask_and_nobody_to_answer(harness: ContactsHarness) -> None:
    before = harness.everything()

    asked = await refused(harness.ask(target="System"))
    answered = await refused(harness.answer(accept=True, source="System"))

    assert (asked.code, answered.code) == ("RECIPIENT_NOT_FOUND", "PERMISSION_DENIED")
    assert harness.everything() == before


async def test_nobody_answers_a_request_of_its_own(harness: ContactsHarness) -> None:
    error = await refused(harness.answer(accept=True, source="RedStone", target="RedStone"))

    assert (error.code, error.data["parameter"]) == ("INVALID_INPUT", "from_agent")
