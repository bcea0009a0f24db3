"""Somebody who may reach the server wants into a project that has not invited it, or to keep its own names out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Credentials
from tests.features.macros.harness import APP, LIB, NOBODY, MacrosHarness, open_macros, refused

OPERATOR = Credentials(via="rpc", bearer_token="unused")  # what the team room's services are given
PROFILE = {"program": "tests", "model": "none"}
WINDOW = "11111111-1111-4111-8111-111111111111"
SOURCE = Path(__file__).parents[2] / "src" / "mcp_agent_mail"

Way = Callable[[MacrosHarness, Credentials], Awaitable[Any]]


def _registering(**arguments: Any) -> Way:
    return lambda team, who: team.call("register_agent", who, project_key=APP, **PROFILE, **arguments)


def _from_window(team: MacrosHarness, who: Credentials) -> Awaitable[Any]:
    window = replace(who, window_id=WINDOW)
    return team.call("register_agent", window, project_key=APP, name="NewComer", **PROFILE)


def _creating(**arguments: Any) -> Way:
    return lambda team, who: team.call("create_agent_identity", who, project_key=APP, **PROFILE, **arguments)


def _starting(**arguments: Any) -> Way:
    return lambda team, who: team.call("macro_start_session", who, human_key=APP, **PROFILE, **arguments)


def _joining(**arguments: Any) -> Way:
    return lambda team, who: team.call(
        "macro_prepare_thread", who, project_key=APP, thread_id="plan-1", **PROFILE, **arguments
    )


NAMING: dict[str, Way] = {
    "register": _registering(name="NewComer"),
    "register from a window": _from_window,
    "create": _creating(),
    "create by hint": _creating(name_hint="NewComer"),
    "create instead of a name that is taken": _creating(name_hint="BlueLake"),
    "start": _starting(agent_name="NewComer"),
    "start and reserve": _starting(agent_name="NewComer", file_reservation_paths=["a.py"]),
    "join": _joining(agent_name="NewComer"),
}
"""Ways in which the newcomer itself comes. With a member's token they name it."""

UNNAMED: dict[str, Way] = {"register unnamed": _registering(), "start unnamed": _starting(), "join unnamed": _joining()}


def _asking(project: str, sender: str, **arguments: Any) -> Way:
    return lambda team, who: team.call("request_contact", who, project_key=project, from_agent=sender, **arguments)


def _shaking(project: str, sender: str, **arguments: Any) -> Way:
    return lambda team, who: team.call(
        "macro_contact_handshake", who, project_key=project, requester=sender, **arguments
    )


ASKING: dict[str, Way] = {
    "ask": _asking(APP, "BlueLake", to_agent="NewComer"),
    "shake": _shaking(APP, "BlueLake", target="NewComer", welcome_subject="Hello", welcome_body="there"),
}
ASKING_ACROSS: dict[str, Way] = {
    "ask across": _asking(LIB, "QuietFox", to_agent="NewComer", to_project=APP),
    "ask an address": _asking(LIB, "QuietFox", to_agent=f"NewComer@{APP}"),
    "shake across": _shaking(LIB, "QuietFox", target="NewComer", to_project=APP),
}


async def opened(folder: Path, **settings: str) -> AsyncIterator[MacrosHarness]:
    async with open_macros(folder, **settings) as team:
        await team.start("BlueLake")
        await team.start("QuietFox", LIB)
        yield team


@pytest.fixture(params=["open", "strict"])
def auth(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def member(tmp_path: Path, auth: str) -> AsyncIterator[MacrosHarness]:
    async for team in opened(tmp_path, PROJECT_ADMISSION="member", AGENT_AUTH=auth):
        yield team


@pytest.fixture
async def operator(tmp_path: Path, auth: str) -> AsyncIterator[MacrosHarness]:
    async for team in opened(tmp_path, PROJECT_ADMISSION="operator", AGENT_AUTH=auth):
        yield team


@pytest.fixture
async def strict(tmp_path: Path) -> AsyncIterator[MacrosHarness]:
    async for team in opened(tmp_path, AGENT_AUTH="strict"):
        yield team


async def invite(team: MacrosHarness, project: str = APP, **arguments: Any) -> str:
    answer = await team.call("create_join_code", OPERATOR, project_key=project, **arguments)
    return str(answer["join_code"])


def as_header(code: str) -> Credentials:
    return Credentials(via="mcp", agent_token=code)


def everything(team: MacrosHarness) -> dict[str, list[Any]]:
    return {**team.everything(), "windows": team.rows("SELECT * FROM windows")}


def names(team: MacrosHarness, project: str = APP) -> set[str]:
    query = (
        "SELECT a.name FROM agents a JOIN projects p ON p.id = a.project_id WHERE p.human_key = ? AND a.kind = 'agent'"
    )
    return {name for (name,) in team.rows(query, project)}


async def refusals(team: MacrosHarness, ways: dict[str, Way], who: Credentials) -> dict[str, tuple[str, bool]]:
    """Per way the error and whether it left a trace."""
    found = {}
    for way, enter in ways.items():
        before = everything(team)
        try:
            await enter(team, who)
            code = "LET IN"
        except AgentMailError as error:
            code = error.code
        found[way] = (code, everything(team) != before)
    return found


def denied(ways: dict[str, Way]) -> dict[str, tuple[str, bool]]:
    return dict.fromkeys(ways, ("PERMISSION_DENIED", False))


def unknown(ways: dict[str, Way]) -> dict[str, tuple[str, bool]]:
    return dict.fromkeys(ways, ("RECIPIENT_NOT_FOUND", False))


async def test_a_stranger_comes_into_no_project_by_any_way(member: MacrosHarness) -> None:
    coming = NAMING | UNNAMED

    assert await refusals(member, coming, NOBODY) == denied(coming)
    assert await refusals(member, coming, member.proof("QuietFox", LIB)) == denied(coming)
    assert await refusals(member, ASKING_ACROSS, member.proof("QuietFox", LIB)) == unknown(ASKING_ACROSS)


async def test_a_refusal_says_how_to_be_let_in(member: MacrosHarness) -> None:
    error = await refused(member.call("register_agent", project_key=APP, name="NewComer", **PROFILE))

    assert error.data["admission"] == "member"
    assert [call["tool"] for call in error.data["suggested_tool_calls"]] == ["register_agent"]
    suggested = error.data["suggested_tool_calls"][0]["arguments"]
    assert suggested.keys() == {"project_key", "name", "program", "model", "registration_token"}
    assert suggested["name"] == "NewComer"
    for word in ("am projects invite", "with its own registration_token"):
        assert word in error.hint


async def test_a_name_taken_at_its_word_is_no_members_proof(tmp_path: Path) -> None:
    async for team in opened(tmp_path, PROJECT_ADMISSION="member", AGENT_AUTH="open"):
        assert await refusals(team, ASKING, NOBODY) == unknown(ASKING)


@pytest.mark.parametrize("way", [*NAMING, *ASKING])
async def test_a_members_proof_lets_a_newcomer_in_and_stays_the_members(tmp_path: Path, auth: str, way: str) -> None:
    async for team in opened(tmp_path, PROJECT_ADMISSION="member", AGENT_AUTH=auth):
        proof = team.proof("BlueLake")
        before = team.rows("SELECT name, program, model, task_description, token_hash FROM agents WHERE id = 3")

        answer = await (NAMING | ASKING)[way](team, proof)

        assert len(names(team)) == 2
        after = team.rows("SELECT name, program, model, task_description, token_hash FROM agents WHERE id = 3")
        assert after == before
        assert before[0][0] == "BlueLake"
        if way in NAMING:
            agent = answer.get("agent", answer)
            own = agent["registration_token"]
            assert agent["name"] != "BlueLake"
            acted = await team.call(
                "set_status", as_header(own), project_key=APP, agent_name=agent["name"], status="busy"
            )
            assert acted["agent"] == agent["name"]
        whose = await team.call("set_status", proof, project_key=APP, agent_name="BlueLake", status="busy")
        assert whose["agent"] == "BlueLake"


@pytest.mark.parametrize("way", UNNAMED)
async def test_a_members_token_without_a_name_means_the_member(member: MacrosHarness, way: str) -> None:
    profile = {"program": "a-helpers", "model": "another"}
    tool, place = {
        "register unnamed": ("register_agent", {"project_key": APP}),
        "start unnamed": ("macro_start_session", {"human_key": APP}),
        "join unnamed": ("macro_prepare_thread", {"project_key": APP, "thread_id": "plan-1"}),
    }[way]

    answer = await member.call(tool, member.proof("BlueLake"), **place, **profile)

    agent = answer.get("agent", answer)
    assert (agent["name"], agent["program"], agent["model"]) == ("BlueLake", *PROFILE.values())
    assert names(member) == {"BlueLake"}


async def test_a_member_that_lets_somebody_in_keeps_its_window(member: MacrosHarness) -> None:
    proof = replace(member.proof("BlueLake"), window_id=WINDOW)

    answer = await member.call("register_agent", proof, project_key=APP, name="NewComer", **PROFILE)

    assert (answer["name"], answer["window_display_name"]) == ("NewComer", "BlueLake")


async def test_where_the_operator_decides_a_member_lets_nobody_in(operator: MacrosHarness) -> None:
    proof = operator.proof("BlueLake")

    assert await refusals(operator, NAMING, proof) == denied(NAMING)
    assert await refusals(operator, ASKING, proof) == unknown(ASKING)


async def test_who_asks_for_a_name_that_may_not_come_in_is_told_of_the_name_and_not_of_a_door(
    operator: MacrosHarness,
) -> None:
    error = await refused(_asking(APP, "BlueLake", to_agent="BlueLage")(operator, operator.proof("BlueLake")))

    assert error.message == f"{APP} has no agent 'BlueLage'."
    assert error.data["nearest"] == ["BlueLake"]
    assert error.hint == (
        "Did you mean BlueLake? list_agents shows who is there. "
        "New names come in by the operator alone (PROJECT_ADMISSION=operator)."
    )


@pytest.mark.parametrize("way", [*NAMING, *UNNAMED])
async def test_the_operators_own_call_lets_a_newcomer_in(operator: MacrosHarness, way: str) -> None:
    answer = await (NAMING | UNNAMED)[way](operator, OPERATOR)

    assert answer.get("agent", answer)["registration_token"].startswith("amt_")
    assert len(names(operator)) == 2


@pytest.mark.parametrize("way", [*NAMING, *UNNAMED])
@pytest.mark.parametrize("place", ["agent_token", "token_argument"])
async def test_a_join_code_stands_where_a_token_would_and_lets_one_in(
    operator: MacrosHarness, way: str, place: str
) -> None:
    enter = (NAMING | UNNAMED)[way]
    code: dict[str, Any] = {place: await invite(operator)}
    who = Credentials(via="mcp", **code)

    answer = await enter(operator, who)
    again = await refused(enter(operator, who))

    agent = answer.get("agent", answer)
    assert agent["registration_token"].startswith("amt_")
    assert names(operator) == {"BlueLake", agent["name"]}
    assert (again.code, again.data) == ("PERMISSION_DENIED", {"used_by": agent["name"]})


async def test_a_join_code_beside_a_members_proof_lets_the_named_one_in(operator: MacrosHarness) -> None:
    both = replace(operator.proof("BlueLake"), token_argument=await invite(operator))

    answer = await NAMING["register"](operator, both)

    assert answer["name"] == "NewComer"
    assert (await refused(NAMING["create"](operator, both))).code == "PERMISSION_DENIED"


async def test_of_two_that_race_with_one_code_exactly_one_comes_in(operator: MacrosHarness) -> None:
    who = as_header(await invite(operator))
    names_of_racers = [f"Racer{number}" for number in range(8)]

    answers = await asyncio.gather(
        *(operator.call("register_agent", who, project_key=APP, name=name, **PROFILE) for name in names_of_racers),
        return_exceptions=True,
    )

    let_in = [answer["name"] for answer in answers if isinstance(answer, dict)]
    errors = [answer for answer in answers if isinstance(answer, AgentMailError)]
    assert (len(let_in), {error.code for error in errors}, len(errors)) == (1, {"PERMISSION_DENIED"}, 7)
    assert names(operator) == {"BlueLake", *let_in}


async def test_a_registration_that_is_refused_uses_no_code_up(operator: MacrosHarness) -> None:
    who = as_header(await invite(operator))

    refusals_of_others = [
        await refused(operator.call("register_agent", who, project_key=APP, name="new comer", **PROFILE)),
        await refused(operator.call("register_agent", who, project_key=APP, name="BlueLake", **PROFILE)),
        await refused(operator.call("register_agent", who, project_key=LIB, name="NewComer", **PROFILE)),
        await refused(_starting(agent_name="NewComer", file_reservation_paths=["../outside"])(operator, who)),
    ]

    assert [error.code for error in refusals_of_others] == [
        "INVALID_INPUT",
        "PERMISSION_DENIED",
        "PERMISSION_DENIED",
        "INVALID_INPUT",
    ]
    assert (await NAMING["register"](operator, who))["name"] == "NewComer"


async def test_an_expired_code_and_one_taken_back_let_nobody_in(operator: MacrosHarness) -> None:
    short, revoked = await invite(operator, lifetime_seconds=60), await invite(operator)
    (newest, _) = await operator.call("list_join_codes", OPERATOR, project_key=APP)
    await operator.call("revoke_join_code", OPERATOR, project_key=APP, join_code_id=newest["id"])
    operator.clock.step(61)

    assert await refusals(operator, NAMING, as_header(short)) == denied(NAMING)
    assert await refusals(operator, NAMING, as_header(revoked)) == denied(NAMING)
    assert await refusals(operator, NAMING, as_header("amj_made-up")) == denied(NAMING)


async def test_a_code_is_no_bearer_and_proves_no_agent(operator: MacrosHarness) -> None:
    code = await invite(operator)
    status = {"project_key": APP, "agent_name": "BlueLake", "status": "busy"}

    as_bearer = await refused(NAMING["register"](operator, Credentials(via="mcp", bearer_token=code)))
    acting = await refused(operator.call("set_status", as_header(code), **status))

    assert (as_bearer.code, acting.code) == ("PERMISSION_DENIED", "PERMISSION_DENIED")


async def test_a_client_that_keeps_sending_its_used_code_goes_on_with_its_own_token(operator: MacrosHarness) -> None:
    who = as_header(await invite(operator))
    token = (await NAMING["register"](operator, who))["registration_token"]
    status = {"project_key": APP, "agent_name": "NewComer", "status": "busy"}

    acted = await operator.call("set_status", replace(who, token_argument=token), **status)
    alone = await refused(operator.call("set_status", who, **status))
    anothers = await refused(
        operator.call("set_status", replace(operator.proof("BlueLake"), token_argument=who.agent_token), **status)
    )

    assert (acted["agent"], alone.code, anothers.code) == ("NewComer", "PERMISSION_DENIED", "PERMISSION_DENIED")


async def test_codes_are_the_operators_alone_and_stored_hashed(operator: MacrosHarness) -> None:
    code = await invite(operator)
    everybody = [NOBODY, operator.proof("BlueLake"), replace(NOBODY, via="rpc"), replace(OPERATOR, via="mcp")]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("create_join_code", {}),
        ("list_join_codes", {}),
        ("revoke_join_code", {"join_code_id": 1}),
    ]

    codes = [
        (await refused(operator.call(tool, who, project_key=APP, **more))).code
        for who in everybody
        for tool, more in calls
    ]

    assert set(codes) <= {"PERMISSION_DENIED", "NOT_FOUND"}
    assert code not in str(operator.rows("SELECT * FROM join_codes"))
    assert code not in str(await operator.call("list_join_codes", OPERATOR, project_key=APP))


async def test_a_code_that_was_used_cannot_be_taken_back_and_says_who_came(operator: MacrosHarness) -> None:
    await NAMING["register"](operator, as_header(await invite(operator)))
    (listed,) = await operator.call("list_join_codes", OPERATOR, project_key=APP)

    error = await refused(operator.call("revoke_join_code", OPERATOR, project_key=APP, join_code_id=listed["id"]))

    assert (listed["status"], listed["used_by"], error.code) == ("used", "NewComer", "CONFLICT")


async def test_the_first_agent_of_a_project_and_names_that_are_there_need_nobodys_word(operator: MacrosHarness) -> None:
    first = await operator.start("FirstOne", "/code/new")
    back = await operator.call(
        "register_agent", operator.proof("BlueLake"), project_key=APP, name="BlueLake", **PROFILE
    )

    assert first["agent"]["registration_token"].startswith("amt_")
    assert back["name"] == "BlueLake"
    assert (await refused(operator.start("SecondOne", "/code/new"))).code == "PERMISSION_DENIED"


async def test_names_that_were_only_spoken_of_lock_no_project(operator: MacrosHarness) -> None:
    await operator.call("ensure_project", human_key="/code/new")
    fox = operator.proof("QuietFox", LIB)
    await _asking(LIB, "QuietFox", to_agent="SquatName", to_project="/code/new")(operator, fox)

    first = await operator.start("FirstOne", "/code/new")

    assert first["agent"]["registration_token"].startswith("amt_")


CLAIMING: dict[str, Way] = {
    "register": _registering(name="newcomer"),
    "create by hint": _creating(name_hint="NewComer"),
    "start": _starting(agent_name="NewComer"),
}
"""Not by joining a thread: under `strict` who is not proven reads none, so registering comes first."""


@pytest.mark.parametrize("way", CLAIMING)
async def test_a_name_that_a_stranger_made_is_the_first_ones_that_registers_it(strict: MacrosHarness, way: str) -> None:
    fox = strict.proof("QuietFox", LIB)
    await _asking(LIB, "QuietFox", to_agent="NewComer", to_project=APP)(strict, fox)

    answer = await CLAIMING[way](strict, NOBODY)

    agent = answer.get("agent", answer)
    inbox = await strict.call(
        "fetch_inbox", as_header(agent["registration_token"]), project_key=APP, agent_name="NewComer"
    )
    assert (agent["name"], agent["program"], [item["from"] for item in inbox]) == (
        "NewComer",
        "tests",
        [f"QuietFox@{strict.rows('SELECT slug FROM projects WHERE human_key = ?', LIB)[0][0]}"],
    )
    assert (await refused(CLAIMING["register"](strict, NOBODY))).code == "AUTHENTICATION_REQUIRED"
    assert (await refused(CLAIMING["register"](strict, fox))).code == "PERMISSION_DENIED"


@pytest.mark.parametrize("way", CLAIMING)
async def test_who_may_not_come_in_does_not_get_a_name_that_was_spoken_of(member: MacrosHarness, way: str) -> None:
    await ASKING["ask"](member, member.proof("BlueLake"))
    ways = {way: CLAIMING[way]}

    assert await refusals(member, ways, NOBODY) == denied(ways)
    assert await refusals(member, ways, member.proof("QuietFox", LIB)) == denied(ways)
    answer = await CLAIMING[way](member, member.proof("BlueLake"))
    assert answer.get("agent", answer)["registration_token"].startswith("amt_")


async def test_nobody_acts_as_a_name_that_nobody_registered(strict: MacrosHarness) -> None:
    fox = strict.proof("QuietFox", LIB)
    await _asking(LIB, "QuietFox", to_agent="NewComer", to_project=APP)(strict, fox)
    status = {"project_key": APP, "agent_name": "NewComer", "status": "busy"}

    assert (await refused(strict.call("set_status", **status))).code == "AUTHENTICATION_REQUIRED"
    assert (await refused(strict.call("set_status", strict.proof("BlueLake"), **status))).code == "PERMISSION_DENIED"


PROJECT_ACTS: dict[str, dict[str, Any]] = {
    "archive_project": {"project_key": APP},
    "unarchive_project": {"project_key": APP},
    "install_precommit_guard": {"project_key": APP, "code_repo_path": "/nowhere/at/all"},
    "uninstall_precommit_guard": {"code_repo_path": "/nowhere/at/all"},
}


@pytest.mark.parametrize("tool", PROJECT_ACTS)
async def test_acts_on_a_project_need_a_members_proof_before_anything_is_looked_at(
    strict: MacrosHarness, tool: str
) -> None:
    """A path that is not there would be INVALID_INPUT: a stranger is not even told that."""
    arguments = PROJECT_ACTS[tool]
    code = await invite(strict)

    anonymous = await refused(strict.call(tool, **arguments))
    invited = await refused(strict.call(tool, as_header(code), **arguments))

    assert (anonymous.code, invited.code) == ("AUTHENTICATION_REQUIRED", "AUTHENTICATION_REQUIRED")
    if tool != "uninstall_precommit_guard":
        stranger = await refused(strict.call(tool, strict.proof("QuietFox", LIB), **arguments))
        assert stranger.code == "PERMISSION_DENIED"


def test_agents_come_into_being_in_one_place() -> None:
    """Beside `Human` and `System`, who come with their project, and those whom the operator imports."""
    places = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if re.search(r"\.agents\.add\(|INSERT INTO agents\b", path.read_text())
    }

    assert places == {
        "features/identity/admission.py",
        "features/importing/agents.py",
        "features/projects/ensure.py",
        "store/agents.py",
        "store/rebuild/database.py",
    }
