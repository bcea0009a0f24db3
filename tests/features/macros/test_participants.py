from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import Conflict, NotFound
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind, WrongToken
from mcp_agent_mail.domain.project_identity import IdentityMode, WorkspaceFacts, identify
from mcp_agent_mail.domain.projects import AliasKind
from mcp_agent_mail.features.macros.participants import (
    AgentUnsaid,
    acting_as,
    registration,
    who_begins,
    who_joins,
)
from mcp_agent_mail.features.macros.requests import JoinRequest, Newcomer
from mcp_agent_mail.features.projects.ensure import ProjectRequest, find_foreseen
from mcp_agent_mail.features.summaries.service import DigestOptions
from mcp_agent_mail.store.transaction import View
from tests.features.macros.harness import APP, LIB, MacrosHarness, refused
from tests.features.samples import APP as A_PROJECT
from tests.features.samples import OPEN, an_agent
from tests.seeded_store import SeededStore, open_seeded_store

A_NAME = NewAgent(
    project_id=ProjectId(1),
    kind=AgentKind.AGENT,
    name="SpokenOf",
    program="p",
    model="m",
    task_description="",
    attachments_policy=AttachmentsPolicy.AUTO,
    token_hash=None,
)


@pytest.fixture
async def pair(team: MacrosHarness) -> MacrosHarness:
    """BlueLake and RedStone, the only agents of /code/app."""
    await team.start("BlueLake")
    await team.start("RedStone")
    return team


async def test_the_only_two_agents_may_be_left_unsaid(pair: MacrosHarness) -> None:
    by_target = await pair.shake(None, "RedStone")
    by_requester = await pair.shake("RedStone", None)
    by_token = await pair.call("macro_contact_handshake", pair.proof("BlueLake"), project_key=APP)

    assert (by_target["request"]["from"], by_target["request"]["to"]) == ("BlueLake", "RedStone")
    assert (by_requester["request"]["from"], by_requester["request"]["to"]) == ("RedStone", "BlueLake")
    assert (by_token["request"]["from"], by_token["request"]["to"]) == ("BlueLake", "RedStone")


async def test_among_several_agents_nobody_is_guessed(pair: MacrosHarness) -> None:
    await pair.start("GreenField")
    before = pair.everything()

    who_asks = await refused(pair.shake(None, "RedStone"))
    who_is_asked = await refused(pair.shake("BlueLake", None))

    assert (who_asks.code, who_asks.data["parameter"]) == ("INVALID_INPUT", "requester")
    assert who_asks.message == "Say who asks: /code/app has GreenField and BlueLake."
    assert (who_is_asked.code, who_is_asked.data["parameter"]) == ("INVALID_INPUT", "target")
    assert who_is_asked.message == "Say who is asked: /code/app has GreenField and RedStone."
    assert who_is_asked.data["agents"] == ["GreenField", "RedStone"]
    assert pair.everything() == before


async def test_a_projects_only_agent_is_both_unsaid_requester_and_target(pair: MacrosHarness) -> None:
    await pair.start("QuietFox", LIB)

    shaken = await pair.shake("BlueLake", None, to_project=LIB)
    back = await pair.shake(None, "RedStone", project_key=LIB, to_project=APP)

    assert (shaken["request"]["to"], shaken["request"]["to_project"]) == ("QuietFox", LIB)
    assert (back["request"]["from"], back["request"]["from_project"]) == ("QuietFox", LIB)


async def test_a_project_without_agents_can_be_asked_by_nobody(pair: MacrosHarness) -> None:
    await pair.call("ensure_project", human_key=LIB)

    error = await refused(pair.shake("BlueLake", None, to_project=LIB))

    assert error.message == "Say who is asked: /code/lib has no agent."


async def test_an_address_elsewhere_rules_nobody_out_here(pair: MacrosHarness) -> None:
    await pair.start("BlueLake", LIB)

    error = await refused(pair.shake(None, f"BlueLake@{LIB}"))

    assert sorted(error.data["agents"]) == ["BlueLake", "RedStone"]


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


def project_request(path: str, *, tie: str | None = None) -> ProjectRequest:
    identity = replace(identify(WorkspaceFacts(path=path), IdentityMode.DIR), tie=tie)
    return ProjectRequest(written=path, facts=WorkspaceFacts(path=path), identity=identity)


def newcomer(name: str | None) -> Newcomer:
    return Newcomer(name=name, program="p", model="m", task_description="")


def proven(agent: Agent) -> Caller:
    return Caller(
        kind=CallerKind.AGENT,
        auth=AgentAuth.OPEN,
        agent_id=agent.id,
        agent_name=agent.name,
        project_id=agent.project_id,
    )


def joining(name: str | None, *, register: bool = True) -> JoinRequest:
    return JoinRequest(
        project_key=APP,
        thread_id="plan-1",
        newcomer=newcomer(name),
        register=register,
        wishes=DigestOptions(),
        inbox_limit=0,
        include_inbox_bodies=False,
    )


async def test_who_begins_is_known_as_far_as_project_and_agent_are(seeded: SeededStore) -> None:
    app, blue = seeded.app.id, seeded.blue.id

    def look(view: View) -> list[object]:
        return [
            who_begins(view, OPEN, project_request("/code/new"), newcomer("BlueLake")),
            who_begins(view, OPEN, project_request(APP), newcomer("NewComer")),
            who_begins(view, OPEN, project_request(APP), newcomer("bluelake")),
            who_begins(view, proven(seeded.blue), project_request(APP), newcomer(None)),
            who_begins(view, proven(seeded.fox), project_request(APP), newcomer(None)),
            who_begins(view, OPEN, project_request(APP), newcomer("Human")),
        ]

    found = await seeded.store.read(look)

    assert found == [(None, None), (app, None), (app, blue), (app, blue), (app, None), (app, None)]


async def test_a_directory_is_the_project_that_its_identity_ties_it_to(seeded: SeededStore) -> None:
    await seeded.store.write(lambda tx: tx.aliases.add(seeded.app.id, "uid:1", AliasKind.TIE, tx.now))

    tied, untied = await seeded.store.read(
        lambda view: (
            find_foreseen(view, project_request("/code/copy", tie="uid:1")),
            find_foreseen(view, project_request("/code/copy")),
        )
    )

    assert tied is not None
    assert (tied.id, untied) == (seeded.app.id, None)


async def test_who_joins_is_the_agent_named_or_proven_or_nobody_yet(seeded: SeededStore) -> None:
    def look(view: View) -> list[Agent | None]:
        return [
            who_joins(view, OPEN, joining("RedStone"))[1],
            who_joins(view, proven(seeded.red), joining(None))[1],
            who_joins(view, OPEN, joining("NewComer"))[1],
            who_joins(view, OPEN, joining("RedStone", register=False))[1],
        ]

    named, by_token, new, only_there = await seeded.store.read(look)

    assert (named, by_token, new, only_there) == (seeded.red, seeded.red, None, seeded.red)


async def test_a_name_that_others_only_spoke_of_is_nobody_to_act_as(seeded: SeededStore) -> None:
    spoken_of = await seeded.store.write(lambda tx: tx.agents.add(replace(A_NAME, project_id=seeded.app.id), tx.now))

    joins = await seeded.store.read(lambda view: who_joins(view, proven(seeded.blue), joining(spoken_of.name)))

    assert joins[1] is None


async def test_nobody_joins_as_another_or_unsaid_or_into_what_is_archived(seeded: SeededStore) -> None:
    with pytest.raises(WrongToken):
        await seeded.store.read(lambda view: who_joins(view, proven(seeded.blue), joining("RedStone")))
    with pytest.raises(AgentUnsaid):
        await seeded.store.read(lambda view: who_joins(view, OPEN, joining(None, register=False)))
    with pytest.raises(NotFound):
        await seeded.store.read(lambda view: who_joins(view, OPEN, joining("NewComer", register=False)))
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.app.id, tx.now))

    with pytest.raises(Conflict):
        await seeded.store.read(lambda view: who_joins(view, OPEN, joining("RedStone")))


async def test_who_comes_back_keeps_what_it_said_about_attachments(seeded: SeededStore) -> None:
    kept = replace(A_NAME, project_id=seeded.app.id, attachments_policy=AttachmentsPolicy.INLINE)
    await seeded.store.write(lambda tx: tx.agents.add(kept, tx.now))

    back, new = await seeded.store.read(
        lambda view: [registration(view, OPEN, seeded.app, newcomer(name)) for name in (kept.name, "NewComer")]
    )

    assert (back.attachments_policy, new.attachments_policy) == (AttachmentsPolicy.INLINE, AttachmentsPolicy.AUTO)
    assert (back.project_key, back.name) == (APP, kept.name)


def test_who_has_become_an_agent_acts_as_it_and_the_operator_stays_the_operator() -> None:
    agent = an_agent(5, "NewComer")
    operator = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)

    as_agent, as_one_of_them = acting_as(OPEN, A_PROJECT, agent), acting_as(OPEN, A_PROJECT)

    assert (as_agent.agent_id, as_agent.name_in(A_PROJECT.id)) == (5, "NewComer")
    assert (as_one_of_them.kind, as_one_of_them.agent_id, as_one_of_them.project_id) == (
        CallerKind.AGENT,
        None,
        A_PROJECT.id,
    )
    assert acting_as(operator, A_PROJECT, agent) is operator
