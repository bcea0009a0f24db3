"""Registering: one name is one identity, a token is shown once, each enforcement mode keeps its word."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import Conflict, InvalidInput, PermissionDenied
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.caller import AgentAuth, ReservedIdentity, TokenMissing, WrongToken
from mcp_agent_mail.domain.identity.name_words import ADJECTIVES
from mcp_agent_mail.domain.identity.names import NameEnforcement, is_generated_form
from tests.features.identity.harness import (
    OPERATOR,
    PROFILE,
    PROJECT,
    IdentityHarness,
    Ticking,
    open_identity,
    with_token,
)

AGENT_KEYS = [
    "attachments_policy",
    "contact_policy",
    "id",
    "inception_ts",
    "last_active_ts",
    "model",
    "name",
    "program",
    "project_id",
    "task_description",
]


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[IdentityHarness]:
    async with open_identity(tmp_path, clock=Ticking()) as opened:
        await opened.call("ensure_project", human_key=PROJECT)
        yield opened


async def test_a_new_agent_gets_its_token_and_its_profile_goes_to_the_archive(harness: IdentityHarness) -> None:
    agent = await harness.register("BlueLake", task_description="the parser")

    kind, agent_id, snapshot = (await harness.rows("SELECT kind, agent_id, snapshot FROM outbox ORDER BY seq DESC"))[0]

    assert sorted(agent) == sorted([*AGENT_KEYS, "registration_token", "verified"])
    assert agent["registration_token"].startswith("amt_")
    assert (agent["name"], agent["contact_policy"], agent["verified"]) == ("BlueLake", "auto", False)
    assert (kind, agent_id, json.loads(snapshot)["task_description"]) == ("profile", agent["id"], "the parser")


async def test_eight_agents_registering_one_name_at_once_are_one_identity(harness: IdentityHarness) -> None:
    spellings = ["BlueLake", "bluelake", "BLUELAKE", " BlueLake "]

    agents = await asyncio.gather(*(harness.register(spellings[number % 4]) for number in range(8)))

    assert len({agent["id"] for agent in agents}) == 1
    assert len({agent["name"] for agent in agents}) == 1
    assert sum("registration_token" in agent for agent in agents) == 1


async def test_eight_new_identities_of_one_hint_are_eight(harness: IdentityHarness) -> None:
    made = await asyncio.gather(
        *(
            harness.call("create_agent_identity", project_key=PROJECT, name_hint="GoldenHarbor", **PROFILE)
            for _ in range(8)
        )
    )

    assert len({agent["name"].lower() for agent in made}) == 8
    assert sum(agent["name"] == "GoldenHarbor" for agent in made) == 1
    assert sum(agent.get("requested_name") == "GoldenHarbor" and agent["name_coerced"] for agent in made) == 7
    assert len({agent["registration_token"] for agent in made}) == 8


async def test_the_same_name_again_updates_the_profile_and_keeps_the_rest(harness: IdentityHarness) -> None:
    first = await harness.register("BlueLake", task_description="the parser")

    again = await harness.register("bluelake", program="other", model="newer", task_description="")

    assert (again["id"], again["name"], again["inception_ts"]) == (first["id"], "BlueLake", first["inception_ts"])
    assert (again["program"], again["model"], again["task_description"]) == ("other", "newer", "the parser")
    assert "registration_token" not in again
    assert "requested_name" not in again


async def test_registering_again_never_replaces_the_token(harness: IdentityHarness) -> None:
    token = (await harness.register("BlueLake"))["registration_token"]
    await harness.register("BlueLake", program="other")

    proven = await harness.register("BlueLake", by=with_token(token))

    assert proven["verified"] is True


async def test_registering_again_with_nothing_new_writes_nothing(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    before = await harness.rows("SELECT max(seq) FROM outbox")

    again = await harness.register("BlueLake")

    assert await harness.rows("SELECT max(seq) FROM outbox") == before
    assert again["last_active_ts"] > again["inception_ts"]


async def test_a_retired_agent_comes_back_by_registering(harness: IdentityHarness) -> None:
    first = await harness.register("BlueLake")
    await harness.call("deregister_agent", project_key=PROJECT, agent_name="BlueLake")

    again = await harness.register("BlueLake")

    assert again["id"] == first["id"]
    assert (await harness.call("whois", project_key=PROJECT, agent_name="BlueLake"))["retired_at"] is None


async def test_a_retired_name_is_not_given_to_another(harness: IdentityHarness) -> None:
    first = await harness.register("BlueLake")
    await harness.call("deregister_agent", project_key=PROJECT, agent_name="BlueLake")

    made = await harness.call("create_agent_identity", project_key=PROJECT, name_hint="bluelake", **PROFILE)

    assert made["id"] != first["id"]
    assert made["name"].lower() != "bluelake"


async def test_without_a_name_one_is_generated(harness: IdentityHarness) -> None:
    agent = await harness.register()

    assert is_generated_form(agent["name"])
    assert "requested_name" not in agent


async def test_a_generated_name_that_is_taken_in_any_case_is_drawn_again(tmp_path: Path) -> None:
    drawn: list[str] = []

    def choose(words: Sequence[str]) -> str:
        word = words[0] if len(drawn) < 4 else words[1]
        drawn.append(word)
        return word

    async with open_identity(tmp_path, choose=choose) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        await harness.register("ableacorn")
        drawn.clear()
        agent = await harness.register()

    assert ADJECTIVES[0] == "Able"
    assert agent["name"] == "AgileAlcove"


async def test_when_every_draw_is_taken_the_agent_is_asked_for_a_name(tmp_path: Path) -> None:
    async with open_identity(tmp_path, choose=lambda words: words[0]) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        await harness.register()

        with pytest.raises(Conflict, match="generated names are all taken"):
            await harness.register()


@pytest.mark.parametrize(
    "name", ["Human", "system", "all", "claude-code", "gpt-5", "Blue Lake", "1x", "x" * 65, "tests"]
)
async def test_an_unfit_name_is_refused_and_leaves_no_trace(name: str, harness: IdentityHarness) -> None:
    with pytest.raises(InvalidInput):
        await harness.register(name)

    assert (await harness.rows("SELECT count(*) FROM agents")) == [(2,)]


@pytest.mark.parametrize(
    ("mode", "name", "is_kept"),
    [
        (NameEnforcement.COERCE, "reviewer", False),
        (NameEnforcement.COERCE, "Human", False),
        (NameEnforcement.COERCE, "BlueLake", True),
        (NameEnforcement.ALWAYS_AUTO, "BlueLake", False),
        (NameEnforcement.STRICT, "BlueLake", True),
    ],
)
async def test_a_mode_that_replaces_a_name_says_so(
    mode: NameEnforcement, name: str, *, is_kept: bool, tmp_path: Path
) -> None:
    async with open_identity(tmp_path, enforcement=mode) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        agent = await harness.register(name)

    if is_kept:
        assert (agent["name"], "requested_name" in agent, "name_coerced" in agent) == (name, False, False)
    else:
        assert is_generated_form(agent["name"])
        assert agent["name"] != name
        assert (agent["requested_name"], agent["name_coerced"]) == (name, True)


@pytest.mark.parametrize("mode", [NameEnforcement.COERCE, NameEnforcement.ALWAYS_AUTO])
async def test_in_every_mode_an_agent_comes_back_by_the_name_it_was_given(
    mode: NameEnforcement, tmp_path: Path
) -> None:
    async with open_identity(tmp_path, enforcement=mode) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        given = await harness.register("reviewer")

        assert (await harness.register(given["name"]))["id"] == given["id"]


async def test_the_token_stands_nowhere_in_the_database(harness: IdentityHarness) -> None:
    token = (await harness.register("BlueLake"))["registration_token"]

    files = [path for path in harness.path.parent.iterdir() if path.is_file()]

    assert any(token_hash(token) in path.read_bytes() for path in files)
    assert [path.name for path in files if token.encode() in path.read_bytes()] == []


async def test_a_wrong_token_is_denied_even_for_a_new_name(harness: IdentityHarness) -> None:
    with pytest.raises(PermissionDenied):
        await harness.register("BlueLake", registration_token="amt_wrong")

    assert (await harness.rows("SELECT count(*) FROM agents")) == [(2,)]


async def test_with_another_agents_token_a_new_name_is_free_and_a_known_one_is_denied(harness: IdentityHarness) -> None:
    blue = (await harness.register("BlueLake"))["registration_token"]
    await harness.register("RedStone")

    helper = await harness.register("blue-helper", by=with_token(blue))
    with pytest.raises(WrongToken):
        await harness.register("RedStone", by=with_token(blue))

    assert "registration_token" in helper


async def test_in_strict_mode_coming_back_needs_the_token_and_a_new_name_does_not(tmp_path: Path) -> None:
    async with open_identity(tmp_path, auth=AgentAuth.STRICT) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        agent = await harness.register("BlueLake")

        with pytest.raises(TokenMissing, match="needs its token"):
            await harness.register("BlueLake", program="thief")
        back = await harness.register("BlueLake", registration_token=agent["registration_token"])

    assert "verified" not in agent
    assert (back["id"], back["program"]) == (agent["id"], PROFILE["program"])


async def test_a_token_issued_again_voids_the_old_one(harness: IdentityHarness) -> None:
    old = (await harness.register("BlueLake"))["registration_token"]

    answer = await harness.call("reissue_token", by=OPERATOR, project_key=PROJECT, agent_name="bluelake")

    with pytest.raises(PermissionDenied, match="not valid"):
        await harness.register("BlueLake", by=with_token(old))
    assert (await harness.register("BlueLake", by=with_token(answer["registration_token"])))["verified"] is True
    assert answer["name"] == "BlueLake"


async def test_only_the_operator_issues_tokens_again_and_never_over_mcp(harness: IdentityHarness) -> None:
    own = (await harness.register("BlueLake"))["registration_token"]
    arguments = {"project_key": PROJECT, "agent_name": "BlueLake"}
    over_rpc = type(OPERATOR)(via="rpc", agent_token=own)
    operator_over_mcp = type(OPERATOR)(via="mcp", bearer_token=OPERATOR.bearer_token)

    with pytest.raises(PermissionDenied, match="Only the operator"):
        await harness.call("reissue_token", by=over_rpc, **arguments)
    with pytest.raises(Exception, match="Unknown tool"):
        await harness.call("reissue_token", by=operator_over_mcp, **arguments)
    with pytest.raises(ReservedIdentity):
        await harness.call("reissue_token", by=OPERATOR, project_key=PROJECT, agent_name="Human")


async def speak_of(harness: IdentityHarness, name: str) -> int:
    """A name that others used before anybody registered it; the agent's id."""
    ((project_id,),) = await harness.rows("SELECT id FROM projects")
    spoken_of = NewAgent(
        project_id=project_id,
        kind=AgentKind.AGENT,
        name=name,
        program="",
        model="",
        task_description="",
        attachments_policy=AttachmentsPolicy.AUTO,
        token_hash=None,
    )
    agent = await harness.store.write(lambda tx: tx.agents.add(spoken_of, tx.now))
    return int(agent.id)


@pytest.mark.parametrize(
    ("tool", "argument"),
    [("register_agent", {"name": "bluelake"}), ("create_agent_identity", {"name_hint": "bluelake"})],
)
async def test_who_first_registers_a_name_that_was_only_spoken_of_is_that_agent(
    tool: str, argument: dict[str, Any], harness: IdentityHarness
) -> None:
    spoken_of = await speak_of(harness, "BlueLake")

    agent = await harness.call(tool, project_key=PROJECT, **PROFILE, **argument)

    assert (agent["id"], agent["name"], agent["program"]) == (spoken_of, "BlueLake", PROFILE["program"])
    assert agent["registration_token"].startswith("amt_")


async def test_who_comes_by_its_token_alone_keeps_its_program_and_model(harness: IdentityHarness) -> None:
    first = await harness.register("BlueLake")

    back = await harness.register(by=with_token(first["registration_token"]), program="other", task_description="new")
    named = await harness.register("BlueLake", by=with_token(first["registration_token"]), program="other")

    assert (back["id"], back["program"], back["task_description"]) == (first["id"], PROFILE["program"], "new")
    assert (named["id"], named["program"]) == (first["id"], "other")


async def test_a_reserved_name_is_nobodys_even_to_come_back_by(tmp_path: Path) -> None:
    async with open_identity(tmp_path, enforcement=NameEnforcement.COERCE) as harness:
        await harness.call("ensure_project", human_key=PROJECT)

        made = await harness.call("create_agent_identity", project_key=PROJECT, name_hint="Human", **PROFILE)

    assert made["requested_name"] == "Human"
    assert is_generated_form(made["name"])


WINDOW = "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"


def in_window(token: str | None = None) -> Credentials:
    return Credentials(via="mcp", window_id=WINDOW, agent_token=token)


async def test_without_a_name_the_window_says_who_comes(harness: IdentityHarness) -> None:
    first = await harness.register(by=in_window())
    again = await harness.register(by=in_window())
    outside = await harness.register()

    assert (again["id"], again["window_display_name"]) == (first["id"], first["name"])
    assert outside["id"] != first["id"]
    assert "window_id" not in outside


@pytest.mark.parametrize(
    ("mode", "name", "is_kept"),
    [
        (NameEnforcement.FREE, "Reviews", True),
        (NameEnforcement.FREE, PROFILE["program"], False),
        (NameEnforcement.STRICT, "Reviews", False),
        (NameEnforcement.STRICT, "RedStone", True),
    ],
)
async def test_a_windows_name_that_an_agent_may_not_have_gives_a_generated_one(
    mode: NameEnforcement, name: str, *, is_kept: bool, tmp_path: Path
) -> None:
    async with open_identity(tmp_path, enforcement=mode) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        await harness.register("BlueLake", by=in_window())
        await harness.call("rename_window", project_key=PROJECT, window_uuid=WINDOW, new_display_name=name)

        agent = await harness.register(by=in_window())

    assert (agent["name"] == name) is is_kept
    assert "requested_name" not in agent


async def test_a_member_that_makes_a_helper_keeps_its_window(harness: IdentityHarness) -> None:
    token = (await harness.register("BlueLake"))["registration_token"]

    helper = await harness.call("create_agent_identity", by=in_window(token), project_key=PROJECT, **PROFILE)

    assert helper["window_display_name"] == "BlueLake" != helper["name"]


async def test_a_window_in_a_project_where_the_caller_is_no_member_is_its_new_agents(harness: IdentityHarness) -> None:
    token = (await harness.register("BlueLake"))["registration_token"]
    await harness.call("ensure_project", human_key="/code/other")

    agent = await harness.register("RedStone", by=in_window(token), project_key="/code/other")

    assert agent["window_display_name"] == "RedStone"


@pytest.mark.parametrize("program", list(Door))
async def test_no_agent_says_of_itself_that_a_door_made_it(harness: IdentityHarness, program: Door) -> None:
    before = await harness.rows("SELECT count(*) FROM agents")

    for tool in ("register_agent", "create_agent_identity"):
        with pytest.raises(InvalidInput, match="is the program of mailboxes that its door makes"):
            await harness.call(tool, project_key=PROJECT, program=program.value, model="m")

    assert await harness.rows("SELECT count(*) FROM agents") == before
