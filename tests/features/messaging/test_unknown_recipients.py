from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.store.transaction import Tx
from tests.features.messaging.harness import APP, LIB, MessagingHarness, refused_send
from tests.seeded_store import add_agent, add_project


async def refused(harness: MessagingHarness, *to: str, **more: Any) -> AgentMailError:
    error = await refused_send(harness, to=list(to), **more)
    assert harness.rows("SELECT count(*) FROM messages") == [(0,)]
    return error


async def add(harness: MessagingHarness, *names: str, project: str = APP) -> None:
    """Agents of a project, which is made unless it is there."""

    def unit(tx: Tx) -> None:
        home = tx.projects.find_by_human_key(project) or add_project(tx, project)
        for name in names:
            add_agent(tx, home, name)

    await harness.seeded.store.write(unit)


async def test_all_that_are_unknown_are_told_at_once_with_whom_each_may_mean(harness: MessagingHarness) -> None:
    error = await refused(harness, "RedStome", "Xyz", "BlueLake", cc=["Greenfeld"])

    assert error.message == f"{APP} has no agents 'RedStome', 'Xyz' or 'Greenfeld'."
    assert error.hint == (
        "Did you mean RedStone for 'RedStome'; GreenField for 'Greenfeld'? "
        "There are GreenField, RedStone and BlueLake. Nothing was sent."
    )
    assert error.data["unknown"] == ["RedStome", "Xyz", "Greenfeld"]
    assert error.data["nearest_by_recipient"] == {"RedStome": ["RedStone"], "Xyz": [], "Greenfeld": ["GreenField"]}


async def test_where_nobody_is_near_those_present_are_told(harness: MessagingHarness) -> None:
    error = await refused(harness, "Xyz")

    assert error.hint == "There are GreenField, RedStone and BlueLake. Nothing was sent."
    assert error.data["present"] == ["GreenField", "RedStone", "BlueLake"]


async def test_whoever_is_understood_is_told_of_nobody_else(harness: MessagingHarness) -> None:
    error = await refused(harness, "RedStome")

    assert error.hint == "Did you mean RedStone? Nothing was sent."
    assert "present" not in error.data


async def test_of_many_that_are_present_ten_are_told_and_where_the_others_are(harness: MessagingHarness) -> None:
    await add(harness, *(f"Agent{number}" for number in range(10)))

    error = await refused(harness, "Xyz")

    assert error.hint.startswith("The 10 last active are Agent9, ")
    assert error.hint.endswith("Agent0. list_agents shows who is there; nothing was sent.")


@pytest.mark.parametrize("text", ["all", "*", "everyone", "@all"])
async def test_whoever_wants_everyone_is_told_of_the_broadcast(harness: MessagingHarness, text: str) -> None:
    error = await refused(harness, text)

    assert error.hint == (
        "To reach everyone active here: send_message with broadcast=true and without to. Nothing was sent."
    )


async def test_whoever_wants_the_user_is_told_the_overseers_name(harness: MessagingHarness) -> None:
    error = await refused(harness, "user")

    assert error.hint.startswith("Did you mean Human?")


@pytest.mark.parametrize(
    "text", ["RedStone, GreenField", "RedStone;greenfield", "RedStone GreenField", "RedStome, Green-Field"]
)
async def test_a_list_in_one_text_is_refused_with_the_list_that_was_meant(harness: MessagingHarness, text: str) -> None:
    error = await refused(harness, text)

    assert error.hint == 'to is a list: to=["RedStone", "GreenField"]. Nothing was sent.'
    assert error.data["did_you_mean"] == ["RedStone", "GreenField"]


async def test_the_list_is_told_for_the_argument_in_which_it_stands(harness: MessagingHarness) -> None:
    error = await refused(harness, "RedStone", cc=["BlueLake, QuietFox@lib"])

    assert 'cc=["BlueLake", "QuietFox@lib"]' in error.hint


async def test_a_long_list_in_one_text_is_told_whole_to_a_program_and_its_beginning_in_words(
    harness: MessagingHarness,
) -> None:
    names = [f"Agent{number}" for number in range(12)]
    await add(harness, *names)

    error = await refused(harness, ", ".join(names))

    told = ", ".join(f'"{name}"' for name in names[:10])
    assert error.hint == f"to is a list: to=[{told}, …]. Nothing was sent."
    assert error.data["did_you_mean"] == names


async def test_names_of_a_list_are_known_among_however_many(harness: MessagingHarness) -> None:
    await add(harness, *(f"Agent{number}" for number in range(300)))

    error = await refused(harness, "redstone, GreenField")

    assert error.data["did_you_mean"] == ["RedStone", "GreenField"]


async def test_an_address_in_a_list_stays_as_it_is_written(harness: MessagingHarness) -> None:
    await add(harness, "QuietFoxLib")

    error = await refused(harness, "BlueLake, QuietFox@lib")

    assert error.data["did_you_mean"] == ["BlueLake", "QuietFox@lib"]


async def test_words_that_are_near_no_name_are_a_list(harness: MessagingHarness) -> None:
    error = await refused(harness, "Xyz Uvw")

    assert error.data["did_you_mean"] == ["Xyz", "Uvw"]


async def test_words_that_are_one_name_are_no_list(harness: MessagingHarness) -> None:
    error = await refused(harness, "Red Stone")

    assert error.hint.startswith("Did you mean RedStone?")
    assert "did_you_mean" not in error.data


async def test_a_name_of_another_project_alone_is_told_with_its_address(harness: MessagingHarness) -> None:
    error = await refused(harness, "QuietFox")

    slug = harness.seeded.lib.slug
    assert error.data["nearest"] == [f"QuietFox@{slug}"]
    assert error.hint.startswith(f"Did you mean QuietFox@{slug}?")


async def test_a_name_of_another_project_comes_before_one_that_is_nearly_so_here(harness: MessagingHarness) -> None:
    await add(harness, "QuietFix")

    error = await refused(harness, "QuietFox")

    assert error.data["nearest"] == [f"QuietFox@{harness.seeded.lib.slug}"]


async def test_a_slip_of_a_name_here_comes_before_any_of_another_project(harness: MessagingHarness) -> None:
    await add(harness, "RedStomes", project=LIB)

    assert (await refused(harness, "RedStome")).data["nearest"] == ["RedStone"]


@pytest.mark.parametrize("name", ["QuietFox", "QuietFx"])
async def test_whoever_writes_the_project_means_that_one(harness: MessagingHarness, name: str) -> None:
    error = await refused(harness, f"{name}@{APP}")

    assert error.data["nearest"] == []


async def test_of_many_that_may_be_meant_three_are_told(harness: MessagingHarness) -> None:
    await add(harness, "XuietOwl")
    for name in "abc":
        await add(harness, "QuietOwl", project=f"/code/{name}")

    error = await refused(harness, "QuietOwls")

    assert error.data["nearest"] == ["QuietOwl@code-c", "QuietOwl@code-b", "QuietOwl@code-a"]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("System", "System receives no mail."),
        ("system@/code/lib", "System receives no mail."),
        ("System@/code/Lib", "Unknown project: /code/Lib."),
    ],
)
async def test_system_receives_no_mail_in_any_project(harness: MessagingHarness, text: str, fact: str) -> None:
    error = await refused(harness, text)

    assert error.message == fact
    assert "System@" not in error.hint
    assert error.data["nearest_by_recipient"] == {text: []}


async def test_a_project_that_is_nearly_right_is_told_as_the_address_that_was_meant(
    harness: MessagingHarness,
) -> None:
    error = await refused(harness, "QuietFox@/code/Lib")

    assert error.code == "RECIPIENT_NOT_FOUND"
    assert error.hint.startswith(f"Did you mean QuietFox@{harness.seeded.lib.slug}? ")
    assert f"Did you mean {LIB}?" in error.hint
    assert error.data["nearest"] == [f"QuietFox@{harness.seeded.lib.slug}"], "which is no project"


async def test_where_nobody_is_meant_in_a_project_that_is_nearly_right_the_project_is_told(
    harness: MessagingHarness,
) -> None:
    error = await refused(harness, "Xyz@/code/Lib")

    assert error.data["nearest"] == [LIB]
    assert error.data["unknown"] == ["Xyz@/code/Lib"]


async def test_a_name_nearly_like_one_of_another_project_is_told_with_its_address(harness: MessagingHarness) -> None:
    error = await refused(harness, "QuietFx")
    half_alike = await refused(harness, "QuietMoon")

    assert error.data["nearest"] == [f"QuietFox@{harness.seeded.lib.slug}"]
    assert half_alike.data["nearest"] == []


async def test_near_names_of_another_project_are_told_as_they_are_written_here(harness: MessagingHarness) -> None:
    error = await refused(harness, f"QuietFix@{LIB}")

    assert error.message == f"{LIB} has no agent 'QuietFix'."
    assert error.data["nearest"] == [f"QuietFox@{harness.seeded.lib.slug}"]


async def test_an_at_sign_before_a_name_is_no_address_and_its_name_is_told(harness: MessagingHarness) -> None:
    error = await refused(harness, "@RedStone")

    assert (error.code, error.data["nearest"]) == ("INVALID_INPUT", ["RedStone"])
    assert error.hint.startswith("Did you mean RedStone?")


async def test_what_is_no_address_at_all_comes_with_the_forms_of_addresses(harness: MessagingHarness) -> None:
    error = await refused(harness, "project:app")

    assert error.code == "INVALID_INPUT"
    assert "Accepted: Name, Name@slug" in error.hint


async def test_five_hundred_unknown_names_are_told_in_few_words(harness: MessagingHarness) -> None:
    await add(harness, *(f"Agent{number}" for number in range(300)))

    error = await refused(harness, *(f"Nobody{number}" for number in range(500)))

    assert len(error.text) < 1_000
    assert "'Nobody9' or 490 more" in error.message
    assert len(error.data["nearest_by_recipient"]) == 5


async def test_hundreds_of_projects_are_told_in_few_words(harness: MessagingHarness) -> None:
    def unit(tx: Tx) -> None:
        for number in range(40):
            add_project(tx, f"/elsewhere/{number}")

    await harness.seeded.store.write(unit)
    there = [f"Nobody@/elsewhere/{number}" for number in range(40)]
    gone = [f"Nobody@/gone/{number}" for number in range(200)]

    error = await refused(harness, *there, *gone)

    assert error.message.count("/elsewhere/") == error.message.count("/gone/") == 10
    assert len(error.hint) < 2_000


async def retire(harness: MessagingHarness, name: str, project: str = APP, program: str = "test") -> None:
    def unit(tx: Tx) -> None:
        home = tx.projects.find_by_human_key(project)
        assert home is not None
        agent = tx.agents.find_by_name(home.id, name)
        assert agent is not None
        tx.agents.update_profile(
            agent.id,
            program=program,
            model=agent.model,
            task_description="",
            attachments_policy=agent.attachments_policy,
            now=tx.now,
        )
        tx.agents.set_retired(agent.id, tx.now, tx.now)

    await harness.seeded.store.write(unit)


async def test_a_retired_recipient_is_told_only_where_it_was_meant_and_as_retired(harness: MessagingHarness) -> None:
    await add(harness, "BlueHeron")
    await retire(harness, "BlueHeron")

    meant, other = await refused(harness, "BlueHerron"), await refused(harness, "BlueLane")

    assert "BlueHeron (retired)" in meant.hint
    assert meant.data["nearest"][0] == "BlueHeron"
    assert (other.data["nearest"], other.hint) == (["BlueLake"], "Did you mean BlueLake? Nothing was sent.")


async def test_of_one_name_elsewhere_a_retired_agent_gives_way_to_one_that_is_not(harness: MessagingHarness) -> None:
    await add(harness, "GoldFinch", project="/a")
    await add(harness, "GoldFinch", project="/b")
    await retire(harness, "GoldFinch", "/a")
    alive = await refused(harness, "GoldFinch")
    await retire(harness, "GoldFinch", "/b")

    gone = await refused(harness, "GoldFinch")

    assert [name.split("@")[0] for name in alive.data["nearest"]] == ["GoldFinch"]
    assert "retired" not in alive.hint
    assert len(gone.data["nearest"]) == 2
    assert gone.hint.count("(retired)") == 2


async def test_what_am_setup_tried_clients_out_with_was_never_meant(harness: MessagingHarness) -> None:
    await add(harness, "GoldFinch")
    await add(harness, "GoldFinch", project="/a")
    for project in (APP, "/a"):
        await retire(harness, "GoldFinch", project, program="am setup")

    error = await refused(harness, "GoldFinsh")

    assert "GoldFinch" not in f"{error.hint} {error.data}"


@pytest.mark.parametrize("spelt", ["RedStoen", "redstoen", "RedStoenn"])
async def test_a_mailbox_that_a_misspelt_name_made_elsewhere_is_not_whom_one_means(
    harness: MessagingHarness, spelt: str
) -> None:
    def unit(tx: Tx) -> None:
        elsewhere = tx.projects.find_by_human_key(LIB)
        assert elsewhere is not None
        new = NewAgent(
            project_id=elsewhere.id,
            kind=AgentKind.AGENT,
            name="RedStoen",
            program="postal",
            model="unknown",
            task_description="",
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        )
        tx.agents.add(new, tx.now)

    await harness.seeded.store.write(unit)

    error = await refused(harness, spelt)

    assert error.data["nearest"] == ["RedStone"]
    assert "RedStoen@" not in error.hint
