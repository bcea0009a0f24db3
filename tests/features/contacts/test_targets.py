from __future__ import annotations

import pytest

from mcp_agent_mail.domain.identity.admission import ProjectAdmission
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.features.contacts.targets import ContactTarget, Profile, require_target
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.admission import NamingRules
from mcp_agent_mail.store.transaction import Tx
from tests.features.contacts.harness import APP, LIB, ContactsHarness, refused
from tests.seeded_store import add_agent, add_project

ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)


async def add(harness: ContactsHarness, name: str, project: str = LIB) -> None:
    """An agent of another project, which is made where there is none."""

    def unit(tx: Tx) -> None:
        home = tx.projects.find_by_human_key(project) or add_project(tx, project)
        add_agent(tx, home, name)

    await harness.seeded.store.write(unit)


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


async def test_nobody_asks_itself(harness: ContactsHarness) -> None:
    error = await refused(harness.ask(target="BlueLake"))

    assert (error.code, error.data["parameter"]) == ("INVALID_INPUT", "to_agent")


async def test_system_is_nobody_to_ask_and_nobody_to_answer(harness: ContactsHarness) -> None:
    before = harness.everything()

    asked = await refused(harness.ask(target="System"))
    answered = await refused(harness.answer(accept=True, source="System"))

    assert (asked.code, answered.code) == ("RECIPIENT_NOT_FOUND", "PERMISSION_DENIED")
    assert harness.everything() == before


async def test_nobody_answers_a_request_of_its_own(harness: ContactsHarness) -> None:
    error = await refused(harness.answer(accept=True, source="RedStone", target="RedStone"))

    assert (error.code, error.data["parameter"]) == ("INVALID_INPUT", "from_agent")


async def require(
    harness: ContactsHarness, to_agent: str, rules: NamingRules, *, caller: Caller = ANYBODY
) -> tuple[Actor, bool]:
    """Whom BlueLake's request means, where the server has these rules."""
    seeded = harness.seeded
    source = Actor(agent=seeded.blue, project=seeded.app)
    wanted = ContactTarget(
        project_key=APP, from_agent="BlueLake", to_agent=to_agent, to_project=None, register=Profile()
    )
    return await seeded.store.write(lambda tx: require_target(tx, caller, source, wanted, rules))


@pytest.mark.parametrize("mode", [NameEnforcement.COERCE, NameEnforcement.ALWAYS_AUTO])
async def test_where_the_server_would_choose_another_name_nobody_is_made(
    harness: ContactsHarness, mode: NameEnforcement
) -> None:
    before = harness.everything()

    error = await refused(require(harness, "redstoner", NamingRules(enforcement=mode)))

    assert (error.code, error.data["nearest"]) == ("RECIPIENT_NOT_FOUND", ["RedStone"])
    assert harness.everything() == before


@pytest.mark.parametrize(
    ("admission", "who"),
    [
        (ProjectAdmission.MEMBER, "by the token of an agent of it, or by the operator"),
        (ProjectAdmission.OPERATOR, "by the operator alone"),
    ],
)
async def test_where_not_everybody_lets_names_in_the_refusal_says_who_does(
    harness: ContactsHarness, admission: ProjectAdmission, who: str
) -> None:
    rules = NamingRules(enforcement=NameEnforcement.FREE, admission=admission)

    error = await refused(require(harness, "NewComer", rules))
    operator = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
    made, is_new = await require(harness, "NewComer", rules, caller=operator)

    assert error.code == "RECIPIENT_NOT_FOUND"
    assert error.hint.endswith(f" New names come in {who} (PROJECT_ADMISSION={admission}).")
    assert (made.agent.name, is_new) == ("NewComer", True)


async def test_where_everybody_lets_names_in_a_refusal_speaks_of_no_door(harness: ContactsHarness) -> None:
    error = await refused(harness.ask(target="NewComer", register_if_missing=False))

    assert error.hint.endswith("list_agents shows who is there.")


async def test_neither_asks_nor_answers_across_into_an_archived_project(harness: ContactsHarness) -> None:
    seeded = harness.seeded
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.lib.id, tx.now))

    asked = await refused(harness.ask(target="QuietFox", to_project=LIB))
    answered = await refused(harness.answer(accept=True, source="QuietFox", target="RedStone", from_project=LIB))

    assert (asked.code, answered.code) == ("CONFLICT", "CONFLICT")


async def test_an_answer_says_whether_the_target_was_registered_for_it(harness: ContactsHarness) -> None:
    made = await harness.ask(target="NewComer")
    again = await harness.ask(target="NewComer")

    assert (made["registered_target"], again["registered_target"]) == (True, False)


async def test_a_name_like_one_that_is_there_is_not_registered_unless_that_is_asked_for(
    harness: ContactsHarness,
) -> None:
    before = harness.everything()

    error = await refused(harness.ask(target="RedStoen"))
    unsaid = await refused(harness.ask(target="RedStoen", register_if_missing=None))

    assert (error.code, unsaid.code) == ("NOT_FOUND", "NOT_FOUND")
    assert error.data["nearest"] == ["RedStone"]
    assert error.hint == "Did you mean RedStone? register_if_missing=true registers it all the same."
    assert harness.everything() == before
    assert (await harness.ask(target="RedStoen", register_if_missing=True))["registered_target"] is True


async def test_a_name_of_another_project_makes_no_second_agent_here(harness: ContactsHarness) -> None:
    before = harness.everything()

    error = await refused(harness.ask(target="quietfox"))

    assert (error.code, error.data["nearest"]) == ("NOT_FOUND", ["QuietFox@code-lib"])
    assert harness.everything() == before
    assert (await harness.ask(target=error.data["nearest"][0]))["to_project"] == LIB


async def test_a_request_from_another_project_is_answered_without_naming_it(harness: ContactsHarness) -> None:
    await harness.ask(source="QuietFox", target=f"RedStone@{APP}", project_key=LIB)

    answer = await harness.answer(accept=True, source="quietfox")

    assert (answer["from"], answer["from_project"], answer["status"]) == ("QuietFox", LIB, "approved")
    assert (await harness.answer(accept=False, source="QuietFox"))["status"] == "blocked", "later, too"


async def test_a_name_nearly_like_one_of_another_project_makes_no_agent_here(harness: ContactsHarness) -> None:
    before = harness.everything()

    error = await refused(harness.ask(target="QuietFax", register_if_missing=None))
    never = await refused(harness.ask(target="QuietFax", register_if_missing=False))

    assert error.data["nearest"] == never.data["nearest"] == [f"QuietFox@{harness.seeded.lib.slug}"]
    assert harness.everything() == before
    assert (await harness.ask(target="QuietMoon", register_if_missing=None))["registered_target"] is True


async def test_an_agent_here_that_asks_goes_before_one_elsewhere(harness: ContactsHarness) -> None:
    await harness.ask(source="BlueLake", target=f"RedStone@{APP}", project_key=LIB)
    await harness.ask(source="BlueLake", target="RedStone")

    answer = await harness.answer(accept=True, source="BlueLake")

    assert answer["from_project"] == APP


async def test_one_here_that_has_nothing_to_do_with_the_target_does_not_hide_the_one_that_asks(
    harness: ContactsHarness,
) -> None:
    await harness.ask(source="BlueLake", target=f"RedStone@{APP}", project_key=LIB)

    answer = await harness.answer(accept=True, source="BlueLake")

    assert answer["from_project"] == LIB
    assert (await harness.answer(accept=True, source="BlueLake"))["from_project"] == APP, "nobody waits any more"


async def test_several_of_a_name_elsewhere_have_to_be_told_apart(harness: ContactsHarness) -> None:
    await add(harness, "TwinOwl")
    await add(harness, "TwinOwl", "/code/other")
    for project in (LIB, "/code/other"):
        await harness.ask(source="TwinOwl", target=f"RedStone@{APP}", project_key=project)

    error = await refused(harness.answer(accept=True, source="TwinOwl"))

    assert (error.code, error.data["projects"]) == ("INVALID_INPUT", [LIB, "/code/other"])
    assert (await harness.answer(accept=True, source="TwinOwl", from_project=LIB))["from_project"] == LIB
    assert (await harness.answer(accept=True, source="TwinOwl"))["from_project"] == "/code/other"


@pytest.mark.parametrize(
    ("name", "told"), [("user", "Did you mean Human?"), ("all", "There are "), ("claude", "BlueLake")]
)
async def test_a_target_that_nobody_can_be_is_refused_with_those_there_are(
    name: str, told: str, harness: ContactsHarness
) -> None:
    error = await refused(harness.ask(target=name))

    assert (error.code, error.data["parameter"]) == ("INVALID_INPUT", "to_agent")
    assert told in error.hint
    assert "leave it out" not in error.hint
