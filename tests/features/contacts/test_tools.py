from __future__ import annotations

import pytest

from mcp_agent_mail.core.tools import Credentials
from tests.features.contacts.harness import APP, LIB, ContactsHarness, refused

LOCAL = Credentials(via="local")


async def test_asking_makes_whoever_is_not_there_with_what_is_said_of_it_unless_that_is_switched_off(
    harness: ContactsHarness,
) -> None:
    pair = {"from_agent": "BlueLake", "to_agent": "NewComer", "to_project": LIB}

    unmade = await refused(harness.call("request_contact", **pair, register_if_missing=False))
    asked = await harness.call("request_contact", **pair, program="codex", model="gpt", task_description="Docs")

    assert unmade.code == "RECIPIENT_NOT_FOUND"
    assert (asked["to"], asked["to_project"], asked["status"]) == ("NewComer", LIB, "pending")
    profiles = harness.rows("SELECT program, model, task_description FROM agents WHERE name = 'NewComer'")
    assert profiles == [("codex", "gpt", "Docs")]


async def test_an_answer_approves_for_so_long_or_declines_for_good(harness: ContactsHarness) -> None:
    pair = {"to_agent": "RedStone", "from_agent": "BlueLake"}

    approved = await harness.call("respond_contact", **pair, accept=True, ttl_seconds=120)
    declined = await harness.call("respond_contact", **pair, accept=False, ttl_seconds=120)

    assert (approved["approved"], approved["expires_ts"]) == (True, "2027-01-15T08:02:00.000000+00:00")
    assert (declined["approved"], declined["status"], declined["expires_ts"]) == (False, "blocked", None)


async def test_an_answer_to_another_project_names_that_project(harness: ContactsHarness) -> None:
    answer = await harness.call(
        "respond_contact", project_key=LIB, to_agent="QuietFox", from_agent="RedStone", from_project=APP, accept=True
    )

    assert (answer["from_project"], answer["to_project"]) == (APP, LIB)


async def test_an_answer_to_a_name_that_asks_not_is_told_who_does(harness: ContactsHarness) -> None:
    answer = {"project_key": LIB, "to_agent": "QuietFox", "from_agent": "RedStoen", "accept": True}
    nobody = await refused(harness.call("respond_contact", **answer))
    await harness.call("request_contact", from_agent="RedStone", to_agent="QuietFox", to_project=LIB)

    misspelt = await refused(harness.call("respond_contact", **answer))
    elsewhere = await refused(harness.call("respond_contact", **answer | {"from_agent": "GreenField"}))

    assert "asks" not in nobody.hint
    assert [error.code for error in (nobody, misspelt, elsewhere)] == ["NOT_FOUND"] * 3
    assert misspelt.data["parameter"] == "from_agent"
    assert misspelt.hint == elsewhere.hint
    named = misspelt.hint.removesuffix(" asks QuietFox: say which as from_agent.")
    assert named.startswith("RedStone@"), "there may be one of that name here too"
    answered = await harness.call("respond_contact", **answer | {"from_agent": named})
    assert (answered["approved"], answered["from_project"]) == (True, APP)


async def test_a_name_of_another_project_is_answered_by_its_address(harness: ContactsHarness) -> None:
    answer = {"project_key": LIB, "to_agent": "QuietFox", "from_agent": "GreenField", "accept": True}

    error = await refused(harness.call("respond_contact", **answer))

    assert error.hint.startswith("Did you mean GreenField@")
    address = error.hint.removeprefix("Did you mean ").rstrip("? ")
    assert (await harness.call("respond_contact", **answer | {"from_agent": address}))["from_project"] == APP


@pytest.mark.parametrize(
    ("tool", "wrong"),
    [("set_contact_policy", {"policy": "friends"}), ("held_mail", {"direction": "sideways"})],
)
async def test_a_word_that_is_none_of_the_choices_is_refused(
    harness: ContactsHarness, tool: str, wrong: dict[str, str]
) -> None:
    error = await refused(harness.call(tool, LOCAL, agent_name="RedStone", **wrong))

    assert error.code == "INVALID_INPUT"


async def test_held_mail_is_that_which_waits_for_the_agent_unless_asked_otherwise_a_page_at_a_time(
    harness: ContactsHarness,
) -> None:
    await harness.call("set_contact_policy", agent_name="RedStone", policy="contacts_only")
    for subject in ("one", "two", "three"):
        await harness.send(subject=subject)

    first = await harness.call("held_mail", LOCAL, agent_name="RedStone", limit=2)
    rest = await harness.call("held_mail", LOCAL, agent_name="RedStone", after_id=first["messages"][-1]["id"])
    sent = await harness.call("held_mail", LOCAL, agent_name="BlueLake", direction="outbound")

    assert (first["direction"], [one["subject"] for one in first["messages"]]) == ("inbound", ["one", "two"])
    assert [one["subject"] for one in rest["messages"]] == ["three"]
    assert (sent["direction"], sent["count"]) == ("outbound", 3)


async def test_what_waits_is_shown_to_the_operators_own_programs_alone(harness: ContactsHarness) -> None:
    agents = {
        tool: await refused(harness.call(tool, agent_name="RedStone")) for tool in ("held_mail", "contact_requests")
    }

    assert {error.code for error in agents.values()} == {"NOT_FOUND"}
    assert await harness.call("contact_requests", LOCAL, agent_name="RedStone") == []
