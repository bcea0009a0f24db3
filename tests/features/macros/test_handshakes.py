from __future__ import annotations

import pytest

from tests.features.macros.harness import APP, LIB, MacrosHarness, refused


@pytest.fixture(autouse=True)
async def _two_agents(team: MacrosHarness) -> None:
    await team.start("BlueLake")
    await team.start("RedStone")


async def status_of(team: MacrosHarness, requester: str = "BlueLake", project: str = APP) -> list[str]:
    links = await team.call("list_contacts", project_key=project, agent_name=requester)
    return [link["status"] for link in links if link["direction"] == "outbound"]


async def test_a_handshake_asks_and_leaves_the_answer_to_the_target(team: MacrosHarness) -> None:
    shaken = await team.shake(reason="the parser")

    assert (shaken["request"]["from"], shaken["request"]["to"], shaken["request"]["status"]) == (
        "BlueLake",
        "RedStone",
        "pending",
    )
    assert (shaken["response"], shaken["welcome_message"]) == (None, None)
    assert len(await team.subjects("RedStone")) == 1


async def test_auto_accept_approves_where_the_policy_lets_the_mail_through_anyway(team: MacrosHarness) -> None:
    shaken = await team.shake(auto_accept=True, welcome_subject="Hello", welcome_body="I do the parser.")

    assert (shaken["response"]["approved"], shaken["response"]["status"]) == (True, "approved")
    assert shaken["welcome_message"]["held"] == []
    assert (await team.subjects("RedStone"))[0] == "Hello"
    assert await status_of(team) == ["approved"]


async def test_auto_accept_does_not_answer_for_a_target_that_takes_mail_of_contacts_only(team: MacrosHarness) -> None:
    await team.policy("RedStone", "contacts_only")

    shaken = await team.shake(auto_accept=True, welcome_subject="Hello", welcome_body="Hi.", reason="the parser")

    assert (shaken["request"]["status"], shaken["response"]) == ("pending", None)
    assert [one["code"] for one in shaken["welcome_message"]["held"]] == ["CONTACT_REQUIRED"]
    assert "Hello" not in await team.subjects("RedStone")
    (waiting,) = await team.call("list_contacts", project_key=APP, agent_name="RedStone")
    assert (waiting["status"], waiting["reason"]) == ("pending", "the parser")


async def test_the_welcome_that_was_held_comes_with_the_approval(team: MacrosHarness) -> None:
    await team.policy("RedStone", "contacts_only")
    await team.shake(welcome_subject="Hello", welcome_body="Hi.")

    pair = {"project_key": APP, "to_agent": "RedStone", "from_agent": "BlueLake"}
    await team.call("respond_contact", **pair, accept=True)

    assert (await team.subjects("RedStone"))[0] == "Hello"


async def test_nobody_prolongs_an_approval_that_was_given_for_a_time(team: MacrosHarness) -> None:
    await team.policy("RedStone", "contacts_only")
    pair = {"project_key": APP, "to_agent": "RedStone", "from_agent": "BlueLake"}
    given = await team.call("respond_contact", **pair, accept=True, ttl_seconds=3_600)

    shaken = await team.shake(auto_accept=True, ttl_seconds=86_400)

    assert shaken["response"] is None
    assert (shaken["request"]["status"], shaken["request"]["expires_ts"]) == ("approved", given["expires_ts"])


async def test_auto_accept_never_shortens_an_approval(team: MacrosHarness) -> None:
    pair = {"project_key": APP, "to_agent": "RedStone", "from_agent": "BlueLake"}
    given = await team.call("respond_contact", **pair, accept=True, ttl_seconds=864_000)

    shaken = await team.shake(auto_accept=True, ttl_seconds=3_600)

    assert shaken["response"]["expires_ts"] == given["expires_ts"]


async def test_auto_accept_does_not_answer_across_projects_unless_the_target_is_open(team: MacrosHarness) -> None:
    await team.start("QuietFox", LIB)

    closed = await team.shake("BlueLake", "QuietFox", to_project=LIB, auto_accept=True, welcome_subject="Hello")
    await team.policy("QuietFox", "open", LIB)
    opened = await team.shake("BlueLake", "QuietFox", to_project=LIB, auto_accept=True)

    assert (closed["response"], len(closed["welcome_message"]["held"])) == (None, 1)
    assert opened["response"]["approved"] is True
    assert "Hello" in await team.subjects("QuietFox", LIB)


async def test_nobody_answers_for_the_overseer(team: MacrosHarness) -> None:
    shaken = await team.shake("BlueLake", "Human", auto_accept=True, welcome_subject="Hello")

    assert shaken["response"] is None
    assert shaken["welcome_message"]["held"] == []


@pytest.mark.parametrize("policy", ["block_all"])
async def test_a_handshake_with_who_takes_no_mail_is_refused_and_leaves_nothing(
    team: MacrosHarness, policy: str
) -> None:
    await team.policy("RedStone", policy)
    before = team.everything()

    error = await refused(team.shake(auto_accept=True, welcome_subject="Hello"))

    assert error.code == "CONTACT_BLOCKED"
    assert team.everything() == before


async def test_a_welcome_that_is_refused_takes_the_request_back_with_it(team: MacrosHarness) -> None:
    before = team.everything()

    error = await refused(team.shake("BlueLake", "GreenField", welcome_subject="Hello", thread_id="4711"))

    assert error.code == "INVALID_INPUT"
    assert team.everything() == before


async def test_a_handshake_says_whether_it_registered_its_target_and_makes_none_of_a_misspelt_name(
    team: MacrosHarness,
) -> None:
    error = await refused(team.shake(target="RedStoen"))
    made = await team.shake(target="RedStoen", register_if_missing=True)
    known = await team.shake()

    assert (error.code, error.data["nearest"]) == ("NOT_FOUND", ["RedStone"])
    assert (made["request"]["registered_target"], known["request"]["registered_target"]) == (True, False)
    assert (await refused(team.shake(target="Nobody", register_if_missing=False))).code == "RECIPIENT_NOT_FOUND"
