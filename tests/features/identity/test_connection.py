"""What a connection said, or a token proves, of who calls: what calls may then leave out, and what still wins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest

from mcp_agent_mail.core.errors import InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.core.params import CALLER_NAME, PROJECT_KEY
from mcp_agent_mail.core.tools import Credentials, Json, ToolTable, tool
from mcp_agent_mail.domain.identity.caller import WrongToken
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.identity.connection import ConnectionIdentity, ConnectionTools, ForeignToken
from tests.features.identity.harness import PROFILE, PROJECT, IdentityHarness, Ticking, open_identity, with_token

LIB = "/code/lib"
SAID = Credentials(via="mcp", said_project=PROJECT, said_agent="BlueLake")


async def at_once(look: Callable[[], Awaitable[Any]]) -> Any:
    return await look()


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[IdentityHarness]:
    """Two projects, an agent of each with the same name, and RedStone in the first."""
    async with open_identity(tmp_path, clock=Ticking()) as opened:
        for project in (PROJECT, LIB):
            await opened.call("ensure_project", human_key=project)
        yield opened


def tools_of(harness: IdentityHarness) -> ToolTable:
    return ConnectionTools(harness.tools, ConnectionIdentity(harness.identity, at_once))


async def status(harness: IdentityHarness, by: Credentials, **arguments: Any) -> Any:
    """Sets a status, as whoever it is, and tells whose it is now."""
    await tools_of(harness).run("set_status", {"status": "busy", **arguments}, by)
    found = await harness.rows(
        "SELECT p.human_key, a.name FROM agents a JOIN projects p ON p.id = a.project_id WHERE a.status = 'busy'"
    )
    return [tuple(row) for row in found]


async def test_a_call_may_leave_out_what_its_connection_has_said(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")

    assert await status(harness, SAID) == [(PROJECT, "BlueLake")]


async def test_a_blank_or_a_null_is_left_out_too(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")

    assert await status(harness, SAID, project_key=" ", agent_name=None) == [(PROJECT, "BlueLake")]


async def test_what_the_call_gives_wins(harness: IdentityHarness) -> None:
    await harness.register("RedStone", project_key=LIB)

    assert await status(harness, SAID, project_key=LIB, agent_name="RedStone") == [(LIB, "RedStone")]


async def test_a_name_alone_proves_nothing(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")

    answer = await tools_of(harness).run("set_status", {"status": "busy"}, SAID)

    assert answer["verified"] is False


async def test_a_proven_token_alone_says_project_and_name(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    blue = await harness.register("RedStone", project_key=LIB)

    assert await status(harness, with_token(blue["registration_token"])) == [(LIB, "RedStone")]


async def test_a_token_in_the_call_wins_over_what_the_connection_says(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    red = await harness.register("RedStone", project_key=LIB)

    assert await status(harness, SAID, registration_token=red["registration_token"]) == [(LIB, "RedStone")]


async def test_a_name_that_contradicts_the_proof_is_refused(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    red = await harness.register("RedStone")
    by = replace(SAID, agent_token=red["registration_token"])

    with pytest.raises(WrongToken):
        await status(harness, by)
    with pytest.raises(WrongToken):
        await status(harness, with_token(red["registration_token"]), agent_name="BlueLake")


@pytest.mark.parametrize("said", [{"project_key": LIB}, {}])
async def test_a_project_that_contradicts_the_proof_is_refused(harness: IdentityHarness, said: dict[str, str]) -> None:
    blue = await harness.register("BlueLake")
    await harness.register("BlueLake", project_key=LIB)
    by = replace(with_token(blue["registration_token"]), said_project=None if said else LIB)

    with pytest.raises(ForeignToken) as refused:
        await status(harness, by, **said)

    assert refused.value.data == {"agent": "BlueLake", "project": PROJECT}
    assert await harness.rows("SELECT id FROM agents WHERE status = 'busy'") == []


async def test_the_proofs_own_project_may_be_named_in_any_way(harness: IdentityHarness) -> None:
    blue = await harness.register("BlueLake")
    (slug,) = (row[0] for row in await harness.rows("SELECT slug FROM projects WHERE human_key = ?", PROJECT))

    assert await status(harness, with_token(blue["registration_token"]), project_key=slug) == [(PROJECT, "BlueLake")]


async def test_a_wrong_token_is_refused_and_lists_no_less(harness: IdentityHarness) -> None:
    by = with_token("amt_wrong")

    with pytest.raises(PermissionDenied):
        await status(harness, by)

    assert await tools_of(harness).known_of(by) == frozenset()


async def test_a_slug_that_the_connection_says_is_its_directory(harness: IdentityHarness) -> None:
    (slug,) = (row[0] for row in await harness.rows("SELECT slug FROM projects WHERE human_key = ?", PROJECT))
    connection = ConnectionIdentity(harness.identity, at_once)
    spec = harness.tools.require("register_agent", SAID)

    completed = await connection.complete(spec, PROFILE, replace(SAID, said_project=slug))

    assert completed.arguments["project_key"] == PROJECT


async def test_an_agent_that_a_call_is_about_is_never_filled_in(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")

    with pytest.raises(InvalidInput) as refused:
        await tools_of(harness).run("whois", {}, SAID)

    assert "agent_name" in refused.value.message
    assert "agents" not in refused.value.data


async def test_a_missing_name_is_told_with_those_who_were_active_last(harness: IdentityHarness) -> None:
    for number in range(12):
        await harness.register(f"Agent{number}")

    with pytest.raises(InvalidInput) as refused:
        await tools_of(harness).run("set_status", {"project_key": PROJECT, "status": "busy"}, with_nothing())

    names = [f"Agent{number}" for number in range(11, 1, -1)]
    assert refused.value.data["agents"] == names
    assert refused.value.hint.endswith(f"Last active here: {', '.join(names)}.")


@pytest.mark.parametrize(
    ("given", "said", "hint"),
    [
        (
            {},
            None,
            (
                'Give project_key="…" and agent_name="…" in the call, '
                "or say it once by the connection's headers X-Agent-Project and X-Agent-Name."
            ),
        ),
        (
            {"agent_name": "BlueLake"},
            None,
            'Give project_key="…" in the call, or say it once by the connection\'s header X-Agent-Project.',
        ),
        (
            {},
            PROJECT,
            (
                'Give agent_name="…" in the call, or say it once by the connection\'s header X-Agent-Name. '
                "Last active here: BlueLake."
            ),
        ),
    ],
)
async def test_what_is_missing_of_who_calls_is_told_with_the_ways_to_say_it(
    harness: IdentityHarness, given: dict[str, str], said: str | None, hint: str
) -> None:
    await harness.register("BlueLake")
    credentials = replace(with_nothing(), said_project=said)

    with pytest.raises(InvalidInput) as refused:
        await tools_of(harness).run("set_status", {"status": "busy", **given}, credentials)

    assert refused.value.hint == hint


async def test_another_missing_argument_says_nothing_of_the_connection(harness: IdentityHarness) -> None:
    with pytest.raises(InvalidInput) as refused:
        await tools_of(harness).run("set_status", {}, SAID)

    assert "status" in refused.value.message
    assert "X-Agent" not in refused.value.hint


@pytest.mark.parametrize("data", [{}, {"parameter": None}, {"missing": []}, {"missing": None}])
async def test_a_refusal_that_is_about_no_one_argument_says_nothing_of_the_connection(
    harness: IdentityHarness, data: dict[str, Any]
) -> None:
    async def refuse(project_key: Annotated[str, PROJECT_KEY], agent_name: Annotated[str, CALLER_NAME]) -> Json:
        """Refuse."""
        assert (project_key, agent_name) == (PROJECT, "BlueLake")
        raise InvalidInput("These two cannot be.", hint="Take one.", data=data)

    tools = ToolTable([tool(refuse, cluster="toys", title="Refuse")])
    connected = ConnectionTools(tools, ConnectionIdentity(harness.identity, at_once))

    with pytest.raises(InvalidInput) as refused:
        await connected.run("refuse", {"project_key": PROJECT, "agent_name": "BlueLake"}, with_nothing())

    assert refused.value.hint == "Take one."


async def test_a_missing_name_in_an_unknown_project_is_told_plainly(harness: IdentityHarness) -> None:
    with pytest.raises(InvalidInput) as refused:
        await tools_of(harness).run("set_status", {"project_key": "/nowhere", "status": "busy"}, with_nothing())

    assert "agents" not in refused.value.data


async def test_an_error_about_a_value_that_the_connection_said_tells_so(harness: IdentityHarness) -> None:
    with pytest.raises(NotFound) as unknown:
        await status(harness, replace(SAID, said_agent="GoldFox"))

    assert unknown.value.hint.endswith("agent_name was left out: this connection says it.")


async def test_a_wrong_name_that_the_connection_said_is_told_whatever_the_tool_calls_it(
    harness: IdentityHarness,
) -> None:
    async def write_as(project_key: Annotated[str, PROJECT_KEY], sender_name: Annotated[str, CALLER_NAME]) -> Json:
        """Act."""
        return await harness.call("whois", project_key=project_key, agent_name=sender_name)

    tools = ToolTable([tool(write_as, cluster="messaging", title="Write")])
    with pytest.raises(NotFound) as unknown:
        await ConnectionTools(tools, ConnectionIdentity(harness.identity, at_once)).run(
            "write_as", {}, replace(SAID, said_agent="GoldFox")
        )

    assert unknown.value.hint.endswith("sender_name was left out: this connection says it.")


async def test_an_error_about_another_value_of_that_kind_says_nothing_of_the_connection(
    harness: IdentityHarness,
) -> None:
    connection = ConnectionIdentity(harness.identity, at_once)
    spec = harness.tools.require("set_status", SAID)
    completed = await connection.complete(spec, {"status": "busy"}, SAID)
    for key, told in ((PROJECT, "project_key was left out: this connection says it."), ("/nowhere", "")):
        # As a recipient's address in a project that is not there.
        error = UnknownProject(f"Unknown project: {key}.", data={"parameter": "project_key"})

        await connection.explain(spec, completed, error)

        assert error.hint == told


async def test_an_error_about_another_argument_says_nothing_of_what_the_connection_said(
    harness: IdentityHarness,
) -> None:
    connection = ConnectionIdentity(harness.identity, at_once)
    completed = await connection.complete(harness.tools.require("set_status", SAID), {"status": "busy"}, SAID)
    error = NotFound(f"{PROJECT} has no such status.", data={"parameter": "status"})

    await connection.explain(harness.tools.require("set_status", SAID), completed, error)

    assert error.hint == ""


async def test_a_connection_is_known_by_what_it_says_and_by_what_it_proves(harness: IdentityHarness) -> None:
    blue = await harness.register("BlueLake")
    tools = tools_of(harness)

    assert await tools.known_of(with_nothing()) == frozenset()
    assert await tools.known_of(replace(SAID, said_agent=None)) == {"project"}
    assert await tools.known_of(SAID) == {"project", "caller"}
    assert await tools.known_of(with_token(blue["registration_token"])) == {"project", "caller"}


async def test_a_call_that_says_all_itself_looks_into_no_store(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as opened:
        connection = ConnectionIdentity(opened.identity, at_once)
        spec = opened.tools.require("set_status", SAID)
    given = {"project_key": PROJECT, "agent_name": "BlueLake", "registration_token": "amt_any"}

    # The store is closed by now: a look would fail.
    completed = await connection.complete(spec, given, with_token("amt_any"))

    assert completed.arguments == given


def with_nothing() -> Credentials:
    return Credentials(via="mcp")
