from __future__ import annotations

import pytest

from mcp_agent_mail.domain.identity.admission import ProjectAdmission
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.features.contacts.targets import ContactTarget, Profile, require_target
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.admission import NamingRules
from tests.features.contacts.harness import APP, LIB, ContactsHarness, refused

ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)


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


async def require(harness: ContactsHarness, to_agent: str, rules: NamingRules, *, caller: Caller = ANYBODY) -> Actor:
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
    made = await require(harness, "NewComer", rules, caller=Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN))

    assert error.code == "RECIPIENT_NOT_FOUND"
    assert error.hint.endswith(f" New names come in {who} (PROJECT_ADMISSION={admission}).")
    assert made.agent.name == "NewComer"


async def test_where_everybody_lets_names_in_a_refusal_speaks_of_no_door(harness: ContactsHarness) -> None:
    error = await refused(harness.ask(target="NewComer", register_if_missing=False))

    assert error.hint.endswith("list_agents shows who is there.")


async def test_neither_asks_nor_answers_across_into_an_archived_project(harness: ContactsHarness) -> None:
    seeded = harness.seeded
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.lib.id, tx.now))

    asked = await refused(harness.ask(target="QuietFox", to_project=LIB))
    answered = await refused(harness.answer(accept=True, source="QuietFox", target="RedStone", from_project=LIB))

    assert (asked.code, answered.code) == ("CONFLICT", "CONFLICT")
