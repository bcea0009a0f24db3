from __future__ import annotations

import pytest

from tests.features.macros.harness import APP, LIB, MacrosHarness, refused


@pytest.fixture
async def talk(team: MacrosHarness) -> MacrosHarness:
    """A thread between BlueLake and RedStone."""
    await team.start("BlueLake")
    await team.start("RedStone")
    await team.send(
        "BlueLake", "RedStone", thread_id="plan-1", body_md="Decision: one parser.\n\n- [ ] RedStone: tests"
    )
    await team.send("RedStone", "BlueLake", thread_id="plan-1", body_md="Which grammar do we take?")
    return team


async def test_a_newcomer_is_registered_and_told_what_the_thread_says(talk: MacrosHarness) -> None:
    joined = await talk.join("GreenField", task_description="Docs")

    assert joined["project"]["human_key"] == APP
    assert joined["agent"]["registration_token"].startswith("amt_")
    assert (joined["thread"]["thread_id"], joined["thread"]["total_messages"]) == ("plan-1", 2)
    assert sorted(joined["thread"]["summary"]["participants"]) == ["BlueLake", "RedStone"]
    assert len(joined["thread"]["examples"]) > 0
    assert joined["inbox"] == []


async def test_who_is_known_comes_back_with_its_inbox(talk: MacrosHarness) -> None:
    joined = await talk.join("RedStone", include_inbox_bodies=True, include_examples=False)

    assert "registration_token" not in joined["agent"]
    assert [item["subject"] for item in joined["inbox"]] == ["Plan"]
    assert joined["inbox"][0]["body_md"].startswith("Decision:")
    assert joined["thread"]["examples"] == []


async def test_a_thread_without_mail_is_an_empty_summary(talk: MacrosHarness) -> None:
    joined = await talk.join("RedStone", thread_id="no-such-thread")

    assert (joined["thread"]["total_messages"], joined["thread"]["summary"]["participants"]) == (0, [])


async def test_without_leave_to_register_the_agent_must_be_there_and_stays_as_it_is(talk: MacrosHarness) -> None:
    before = talk.everything()

    unknown = await refused(talk.join("GreenField", register_if_missing=False))
    unsaid = await refused(talk.join(register_if_missing=False))
    known = await talk.join("RedStone", register_if_missing=False, program="another")

    assert (unknown.code, unsaid.code) == ("NOT_FOUND", "INVALID_INPUT")
    assert (known["agent"]["name"], known["agent"]["program"]) == ("RedStone", "tests")
    assert talk.everything() == before


async def test_an_unknown_project_is_not_made(talk: MacrosHarness) -> None:
    before = talk.everything()

    error = await refused(talk.join("GreenField", project_key=LIB))

    assert error.code == "NOT_FOUND"
    assert talk.everything() == before


async def test_strict_only_who_is_a_member_already_reads_the_thread(strict_team: MacrosHarness) -> None:
    await strict_team.start("BlueLake")
    before = strict_team.everything()

    in_anothers_name = await refused(strict_team.join("BlueLake"))
    newcomer = await refused(strict_team.join("GreenField"))
    nameless = await refused(strict_team.join())
    after = strict_team.everything()
    await strict_team.start("GreenField")
    arguments = {"project_key": APP, "thread_id": "plan-1", "program": "tests", "model": "none"}
    joined = await strict_team.call("macro_prepare_thread", strict_team.proof("GreenField"), **arguments)

    assert {one.code for one in (in_anothers_name, newcomer, nameless)} == {"AUTHENTICATION_REQUIRED"}
    assert after == before
    assert joined["agent"]["name"] == "GreenField"


async def refuse_a_stranger(room: MacrosHarness) -> None:
    await room.start("BlueLake")
    await room.start("QuietFox", LIB)
    before = room.everything()

    arguments = {"project_key": APP, "thread_id": "plan-1", "program": "tests", "model": "none"}
    error = await refused(room.call("macro_prepare_thread", room.proof("QuietFox", LIB), **arguments))

    assert error.code == "PERMISSION_DENIED"
    assert room.everything() == before


async def test_an_agent_of_another_project_is_told_nothing_and_not_registered(team: MacrosHarness) -> None:
    await refuse_a_stranger(team)


async def test_strict_an_agent_of_another_project_is_told_nothing_and_not_registered(
    strict_team: MacrosHarness,
) -> None:
    await refuse_a_stranger(strict_team)


async def test_a_name_that_nobody_may_have_is_refused_and_nothing_is_left(talk: MacrosHarness) -> None:
    before = talk.everything()

    error = await refused(talk.join("Human"))

    assert error.code == "INVALID_INPUT"
    assert talk.everything() == before


async def test_who_shows_anothers_token_is_refused_even_where_nothing_is_written_or_read_of_the_agent(
    talk: MacrosHarness,
) -> None:
    given = {"project_key": APP, "thread_id": "plan-1", "program": "tests", "model": "none", "agent_name": "RedStone"}
    only_looks = {"register_if_missing": False, "inbox_limit": 0}

    error = await refused(talk.call("macro_prepare_thread", talk.proof("BlueLake"), **given, **only_looks))

    assert error.code == "PERMISSION_DENIED"
