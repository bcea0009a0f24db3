from __future__ import annotations

import json

import pytest

from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.contacts import MAX_LINKS_OF_SOURCE, MAX_REQUESTS_OF_TARGET, is_intro
from tests.features.contacts.harness import APP, LIB, NOBODY, ContactsHarness, refused
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
        "registered_target": False,
        "verified": False,
    }
    (intro,) = await harness.call("fetch_inbox", agent_name="RedStone", include_bodies=True)
    assert (intro["subject"], intro["ack_required"]) == ("Contact request from BlueLake", True)
    assert intro["body_md"].startswith("BlueLake would like to write to you. It says:\n\n> the parser\n> is yours\n\n")
    assert is_intro(intro["subject"], intro["body_md"]), "summaries leave it out"
    assert (
        'respond_contact(project_key="/code/app", to_agent="RedStone", from_agent="BlueLake", accept=true)'
        in intro["body_md"]
    )
    assert (
        "Or the operator answers for you: `am contacts approve RedStone BlueLake --project /code/app`"
        in intro["body_md"]
    )
    assert harness.noted == ["BlueLake", "RedStone"]


STATE = (
    "SELECT read_ts IS NOT NULL, ack_ts IS NOT NULL, withdrawn_ts IS NOT NULL FROM recipients WHERE sender_id = "
    "(SELECT id FROM agents WHERE name = 'BlueLake')"
)
COUNTS = "SELECT unread_count, ack_pending_count FROM agents WHERE name = 'RedStone'"
TOLD_OF_MAIL = "SELECT count(*) FROM outbox WHERE kind = 'mail'"
RECEIPTS = "SELECT step FROM outbox WHERE kind = 'receipt'"


@pytest.mark.parametrize("accept", [True, False])
async def test_whoever_is_asked_has_read_and_acknowledged_the_request_by_its_answer(
    harness: ContactsHarness, *, accept: bool
) -> None:
    await harness.ask()

    await harness.call(
        "respond_contact", NOBODY, project_key=APP, to_agent="RedStone", from_agent="BlueLake", accept=accept
    )

    assert (harness.rows(STATE), harness.rows(COUNTS)) == ([(1, 1, 0)], [(0, 0)])
    assert harness.rows(RECEIPTS) == [("acknowledged",)]


@pytest.mark.parametrize("accept", [True, False])
async def test_a_request_that_the_operator_answered_is_withdrawn_and_nobody_has_read_it(
    harness: ContactsHarness, *, accept: bool
) -> None:
    await harness.ask()
    answer = {"project_key": APP, "to_agent": "RedStone", "from_agent": "BlueLake", "accept": accept}

    await harness.call("respond_contact", OPERATOR, **answer)
    once, told = harness.rows("SELECT withdrawn_ts, withdrawn_reason FROM message_terms"), harness.rows(TOLD_OF_MAIL)
    await harness.call("respond_contact", OPERATOR, **answer)

    assert (harness.rows(STATE), harness.rows(COUNTS)) == ([(0, 0, 1)], [(0, 0)])
    assert harness.rows(RECEIPTS) == []
    assert once[0][1] == "The operator has answered it."
    assert harness.rows("SELECT withdrawn_ts, withdrawn_reason FROM message_terms") == once
    assert harness.rows(TOLD_OF_MAIL) == told
    ((changed_by,),) = harness.rows("SELECT agent_id FROM outbox WHERE kind = 'mail' ORDER BY seq DESC LIMIT 1")
    assert changed_by is None


async def test_what_a_person_is_asked_it_has_read_by_its_answer(harness: ContactsHarness) -> None:
    await harness.ask(target="Human")

    answer = {"project_key": APP, "to_agent": "Human", "from_agent": "BlueLake", "accept": True}
    await harness.call("respond_contact", OPERATOR, **answer)

    assert (harness.rows(STATE), harness.rows(RECEIPTS)) == ([(1, 1, 0)], [("acknowledged",)])


async def test_one_that_was_read_before_the_operator_answered_stays_the_agents(harness: ContactsHarness) -> None:
    await harness.ask()
    ((number,),) = harness.rows("SELECT max(id) FROM messages")
    red = harness.seeded.red.id
    await harness.seeded.store.write(lambda tx: tx.inboxes.mark_all_read(red, [number], tx.now))

    answer = {"project_key": APP, "to_agent": "RedStone", "from_agent": "BlueLake", "accept": True}
    await harness.call("respond_contact", OPERATOR, **answer)

    assert (harness.rows(STATE), harness.rows(COUNTS)) == ([(1, 0, 0)], [(0, 1)])


@pytest.mark.parametrize(("by", "recorded"), [(NOBODY, "RedStone"), (OPERATOR, None)], ids=["itself", "the operator"])
@pytest.mark.parametrize("accept", [True, False])
async def test_an_answer_is_recorded_as_that_of_whoever_gave_it(
    harness: ContactsHarness, by: Credentials, recorded: str | None, *, accept: bool
) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.send()

    await harness.call(
        "respond_contact", by, project_key=APP, to_agent="RedStone", from_agent="BlueLake", accept=accept
    )

    newest = "SELECT (SELECT name FROM agents a WHERE a.id = o.agent_id), snapshot FROM outbox o WHERE kind = ?"
    ((acting, snapshot),) = harness.rows(f"{newest} ORDER BY seq DESC LIMIT 1", "contact")
    assert (acting, json.loads(snapshot)["acting"]) == (recorded, recorded)
    ((changed_by, _),) = harness.rows(
        f"{newest} AND message_id = (SELECT max(message_id) FROM recipients WHERE held_code IS NOT NULL) "
        "ORDER BY seq DESC LIMIT 1",
        "mail",
    )
    assert changed_by == "RedStone", "whose copy was decided on, by whichever of them"


async def test_whom_the_operator_declines_for_is_told_to_the_sender(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.send()

    await harness.call(
        "respond_contact", OPERATOR, project_key=APP, to_agent="RedStone", from_agent="BlueLake", accept=False
    )

    (notice,) = await harness.call("fetch_inbox", agent_name="BlueLake", include_bodies=True)
    assert notice["body_md"].startswith("For RedStone the operator has declined your contact.")


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


async def test_an_expired_link_is_no_link_from_that_instant_on(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.answer(accept=True, ttl_seconds=60)
    harness.seeded.clock.step(59.999999)
    assert (await harness.send())["held"] == []

    harness.seeded.clock.step(0.000001)

    assert (await harness.send())["held"] != []


async def add_strangers(harness: ContactsHarness, count: int) -> None:
    """Agents of /code/app, as rows, with the program `strangers`."""
    await harness.seeded.store.write(
        lambda tx: tx.contacts._connection.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "INSERT INTO agents (project_id, kind, name, name_key, program, model, task_description, inception_ts, "
            "last_active_ts, profiled_ts) SELECT 1, 'agent', 'A' || i, 'a' || i, 'strangers', 'm', '', 1, 1, 1 FROM n",
            (count,),
        )
    )


async def link_strangers(harness: ContactsHarness, source: str, target: str) -> None:
    """A request of each of them, or to each of them; `id` stands for the stranger."""
    until = harness.seeded.clock.now + 1
    await harness.seeded.store.write(
        lambda tx: tx.contacts._connection.execute(
            "INSERT INTO contacts (source_id, target_id, status, reason, created_ts, updated_ts, expires_ts) "
            f"SELECT {source}, {target}, 'pending', '', 1, 1, ? FROM agents WHERE program = 'strangers'",
            (until,),
        )
    )


async def test_so_many_requests_wait_for_one_agent_and_no_more(harness: ContactsHarness) -> None:
    await harness.ask(source="GreenField", ttl_seconds=60)
    await add_strangers(harness, MAX_REQUESTS_OF_TARGET)
    await link_strangers(harness, "id", str(harness.seeded.red.id))

    assert (await refused(harness.ask())).code == "QUOTA_EXCEEDED"
    assert (await harness.ask(source="GreenField", ttl_seconds=60))["status"] == "pending", "it waits already"
    harness.seeded.clock.step()
    assert (await harness.ask())["status"] == "pending"


async def test_so_many_links_one_agent_may_have_and_no_more(harness: ContactsHarness) -> None:
    await harness.ask(target="GreenField", ttl_seconds=60)
    await add_strangers(harness, MAX_LINKS_OF_SOURCE - 1)
    await link_strangers(harness, str(harness.seeded.blue.id), "id")

    error = await refused(harness.ask())
    harness.seeded.clock.step(60)
    again = await harness.ask(target="GreenField")

    assert (error.code, error.data) == ("QUOTA_EXCEEDED", {"agent": "BlueLake", "max": MAX_LINKS_OF_SOURCE})
    assert again["status"] == "pending"


async def test_a_repeat_that_gives_no_reason_keeps_the_one_given(harness: ContactsHarness) -> None:
    await harness.ask(reason="the parser")

    await harness.ask()

    assert [link["reason"] for link in await harness.links("BlueLake")] == ["the parser"]


async def test_the_retired_are_asked_nothing(harness: ContactsHarness) -> None:
    seeded = harness.seeded
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.red.id, tx.now, tx.now))

    assert (await refused(harness.ask())).code == "RECIPIENT_RETIRED"


async def test_approval_delivers_what_was_held_in_the_order_of_holding(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    for subject in ("one", "two", "three"):
        await harness.send(subject=subject)
        harness.seeded.clock.step()

    answer = await harness.answer(accept=True)

    assert (answer["approved"], answer["status"], answer["updated"], answer["delivered"]) == (
        True,
        "approved",
        1,
        [1, 3, 4],
    )
    assert await harness.subjects("RedStone") == ["Contact request from BlueLake", "one", "two", "three"]
    assert harness.rows("SELECT unread_count FROM agents WHERE name = 'RedStone'") == [(3,)], "the request is read"
    assert await harness.held("RedStone", "inbound") == []


async def test_denial_returns_what_was_held_and_tells_the_sender_alone(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.send(subject="secret plan")

    answer = await harness.answer(accept=False)

    assert (answer["approved"], answer["status"], answer["updated"], answer["returned"]) == (False, "blocked", 1, [1])
    assert await harness.subjects("BlueLake") == ["RedStone has declined your contact"]
    inbox = await harness.call("fetch_inbox", agent_name="BlueLake", include_bodies=True)
    assert "message 1: secret plan" in inbox[0]["body_md"]
    found = await harness.call("search_messages", harness.proof(harness.seeded.green), query="secret")
    assert found == {"result": []}
    assert await harness.subjects("RedStone") == ["Contact request from BlueLake"]


async def test_mail_across_projects_is_held_until_approved_and_then_is_mail_of_both(harness: ContactsHarness) -> None:
    answer = await harness.send(to=[f"QuietFox@{LIB}"], topic="build", thread_id="T-1")
    held_topic = await harness.call("fetch_topic", topic_name="build")

    await harness.answer(accept=True, project_key=LIB, target="QuietFox", from_project=APP)

    assert answer["held"][0]["agent"] == "QuietFox"
    assert held_topic == []
    for project in (APP, LIB):
        topic = await harness.call("fetch_topic", project_key=project, topic_name="build")
        assert [item["subject"] for item in topic] == ["Plan"]
    assert await harness.subjects("QuietFox", LIB) == ["Contact request from BlueLake@code-app", "Plan"]
    (_, intro) = await harness.call("fetch_inbox", project_key=LIB, agent_name="QuietFox", include_bodies=True)
    assert 'from_project="/code/app"' in intro["body_md"]
