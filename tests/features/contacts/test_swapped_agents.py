from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.domain.identity.caller import AgentAuth
from tests.features.contacts.harness import APP, LIB, ContactsHarness, open_contacts, refused


async def test_an_answer_with_the_sides_changed_is_refused_with_the_right_call(harness: ContactsHarness) -> None:
    await harness.ask(source="BlueLake", target="RedStone")
    before = harness.everything()

    error = await refused(harness.answer(accept=True, source="RedStone", target="BlueLake"))

    assert error.code == "INVALID_INPUT"
    assert error.message == "RedStone has not asked BlueLake: BlueLake has asked RedStone, and waits for its answer."
    assert error.hint.startswith(
        f'Are you RedStone? respond_contact(project_key="{APP}", to_agent="RedStone", from_agent="BlueLake", '
        "accept=true)."
    )
    (call,) = error.data["suggested_tool_calls"]
    assert harness.everything() == before
    assert (await harness.call(call["tool"], **call["arguments"]))["status"] == "approved"


async def test_whoever_is_proven_may_let_in_whom_it_has_asked(harness: ContactsHarness) -> None:
    await harness.ask(source="BlueLake", target="RedStone")
    proof = harness.proof(harness.seeded.blue)

    answered = await harness.call("respond_contact", proof, from_agent="RedStone", to_agent="BlueLake", accept=True)

    assert answered["status"] == "approved"


async def test_an_answer_that_nobody_asked_for_stands_where_nothing_waits(harness: ContactsHarness) -> None:
    assert (await harness.answer(accept=True, source="RedStone", target="BlueLake"))["status"] == "approved"


async def test_an_answer_to_a_request_stands_where_both_have_asked(harness: ContactsHarness) -> None:
    await harness.ask(source="BlueLake", target="RedStone")
    await harness.ask(source="RedStone", target="BlueLake")

    assert (await harness.answer(accept=True, source="RedStone", target="BlueLake"))["status"] == "approved"


async def test_an_answer_as_the_one_who_asked_is_told_the_right_call_by_its_token(harness: ContactsHarness) -> None:
    await harness.ask(source="BlueLake", target="RedStone")
    proof = harness.proof(harness.seeded.red)

    error = await refused(
        harness.call("respond_contact", proof, from_agent="RedStone", to_agent="BlueLake", accept=False)
    )

    assert error.code == "PERMISSION_DENIED"
    assert error.hint == (
        f'from_agent and to_agent are mixed up? respond_contact(project_key="{APP}", to_agent="RedStone", '
        'from_agent="BlueLake", accept=false)'
    )
    (call,) = error.data["suggested_tool_calls"]
    assert (await harness.call(call["tool"], proof, **call["arguments"]))["status"] == "blocked"


async def test_a_request_as_another_is_told_the_right_call_by_its_token(harness: ContactsHarness) -> None:
    proof = harness.proof(harness.seeded.red)

    error = await refused(harness.call("request_contact", proof, from_agent="BlueLake", to_agent="redstone"))

    (call,) = error.data["suggested_tool_calls"]
    assert 'request_contact(project_key="/code/app", from_agent="redstone", to_agent="BlueLake")' in error.hint
    assert (await harness.call(call["tool"], proof, **call["arguments"]))["from"] == "RedStone"


@pytest.mark.parametrize(
    "sides",
    [
        {"from_agent": "QuietFox", "to_agent": "RedStone", "to_project": LIB},
        {"from_agent": f"QuietFox@{LIB}", "to_agent": "RedStone"},
    ],
)
async def test_a_request_from_one_who_is_elsewhere_is_told_the_right_call(
    sides: dict[str, str], harness: ContactsHarness
) -> None:
    error = await refused(harness.call("request_contact", **sides))

    (call,) = error.data["suggested_tool_calls"]
    assert error.code == "NOT_FOUND"
    asked = await harness.call(call["tool"], **call["arguments"])
    assert (asked["from"], asked["to"], asked["to_project"]) == ("RedStone", "QuietFox", LIB)


@pytest.mark.parametrize(
    "sides",
    [
        {"from_agent": "Nobody", "to_agent": "RedStone"},
        {"from_agent": "Nobody", "to_agent": "RedStone", "to_project": LIB},
        {"from_agent": "Nobody", "to_agent": "RedStone", "to_project": "/no/where"},
        {"from_agent": "@", "to_agent": "RedStone"},
        {"from_agent": "Nobody@", "to_agent": "RedStone"},
        {"from_agent": "QuietFox", "to_agent": "Nobody", "to_project": LIB},
    ],
)
async def test_where_a_swap_would_not_help_none_is_told(sides: dict[str, str], harness: ContactsHarness) -> None:
    error = await refused(harness.call("request_contact", **sides))

    # What was wrong with the call stands, and not what was wrong with the look for a swap.
    assert (error.code, error.message) == ("NOT_FOUND", f"No agent named '{sides['from_agent']}' in {APP}.")
    assert "mixed up" not in error.hint
    assert all(call["tool"] != "request_contact" for call in error.data.get("suggested_tool_calls", []))


async def test_a_token_of_neither_side_tells_of_no_swap(harness: ContactsHarness) -> None:
    proof = harness.proof(harness.seeded.blue)

    error = await refused(harness.call("request_contact", proof, from_agent="RedStone", to_agent="GreenField"))

    assert error.code == "PERMISSION_DENIED"
    assert "mixed up" not in error.hint


async def test_whoever_is_here_and_elsewhere_by_one_name_is_told_of_no_swap(harness: ContactsHarness) -> None:
    sides = {"from_agent": "BlueLake", "to_agent": "RedStone", "to_project": LIB}

    error = await refused(harness.call("request_contact", harness.proof(harness.seeded.fox), **sides))

    assert error.code == "PERMISSION_DENIED"
    assert "mixed up" not in error.hint


async def test_an_answer_to_one_who_has_asked_from_elsewhere_is_told_the_right_call(harness: ContactsHarness) -> None:
    await harness.ask(source="RedStone", target="QuietFox", to_project=LIB)
    swapped = {"project_key": LIB, "to_agent": "RedStone", "from_agent": "QuietFox", "accept": True}

    error = await refused(harness.call("respond_contact", **swapped))
    unasked = await refused(harness.call("respond_contact", **{**swapped, "to_agent": "GreenField"}))
    harness.identities.auth = AgentAuth.STRICT
    strict = await refused(harness.call("respond_contact", **swapped))
    harness.identities.auth = AgentAuth.OPEN

    (call,) = error.data["suggested_tool_calls"]
    assert "mixed up" not in unasked.hint
    assert "mixed up" not in strict.hint
    assert (await harness.call(call["tool"], **call["arguments"]))["from"] == "RedStone"


async def test_under_strict_nobody_is_told_who_has_asked_whom(tmp_path: Path) -> None:
    async with open_contacts(tmp_path) as harness:
        await harness.ask(source="BlueLake", target="RedStone")
        harness.identities.auth = AgentAuth.STRICT

        error = await refused(harness.answer(accept=True, source="RedStone", target="BlueLake"))

    assert error.code == "AUTHENTICATION_REQUIRED"
