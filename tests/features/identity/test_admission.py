from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.identity.admission import JoinCode, JoinCodeRefused, NotAdmitted, ProjectAdmission
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.admission import AdmissionRequest, add_agent, claim_agent, require_admission
from tests.seeded_store import SeededStore, add_project, open_seeded_store

CODE = token_hash("amj_code")
STRANGER = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
WITH_CODE = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN, join_code=CODE)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


def door(
    project: Project,
    caller: Caller = STRANGER,
    admission: ProjectAdmission = ProjectAdmission.MEMBER,
    name: str | None = None,
) -> AdmissionRequest:
    return AdmissionRequest(project=project, caller=caller, admission=admission, name=name)


async def invite(seeded: SeededStore) -> JoinCode:
    """CODE, for `app`."""
    until = Micros(seeded.clock.now + 60 * SECOND)
    return await seeded.store.write(lambda tx: tx.join_codes.add(seeded.app.id, CODE, tx.now, until))


async def come(seeded: SeededStore, at: AdmissionRequest, *, name: str = "NewComer", token: bytes | None) -> Agent:
    new = NewAgent(
        project_id=at.project.id,
        kind=AgentKind.AGENT,
        name=name,
        program="test",
        model="test",
        task_description="",
        attachments_policy=AttachmentsPolicy.AUTO,
        token_hash=token,
    )
    return await seeded.store.write(lambda tx: add_agent(tx, at, new))


async def used_by(seeded: SeededStore) -> str | None:
    code = await seeded.store.read(lambda view: view.join_codes.find(CODE))
    assert code is not None
    return code.used_by


async def test_a_stranger_is_refused_where_somebody_is_and_let_in_where_nobody_is(seeded: SeededStore) -> None:
    empty = await seeded.store.write(lambda tx: add_project(tx, "/code/new"))

    with pytest.raises(NotAdmitted):
        await come(seeded, door(seeded.app), token=b"1")

    assert (await come(seeded, door(empty), token=b"2")).name == "NewComer"
    with pytest.raises(NotAdmitted):
        await come(seeded, door(empty), name="SecondOne", token=b"3")


async def test_a_member_lets_in_where_members_may(seeded: SeededStore) -> None:
    blue = Caller(
        kind=CallerKind.AGENT,
        auth=AgentAuth.OPEN,
        agent_id=seeded.blue.id,
        agent_name="BlueLake",
        project_id=seeded.app.id,
    )

    agent = await come(seeded, door(seeded.app, blue), token=None)

    assert agent.name == "NewComer"
    with pytest.raises(NotAdmitted):
        await come(seeded, door(seeded.app, blue, ProjectAdmission.OPERATOR), name="SecondOne", token=None)


@pytest.mark.parametrize(
    ("admission", "names_members"), [(ProjectAdmission.MEMBER, True), (ProjectAdmission.OPERATOR, False)]
)
async def test_the_refusal_says_who_may_let_in_and_which_call_to_make_then(
    seeded: SeededStore, admission: ProjectAdmission, *, names_members: bool
) -> None:
    with pytest.raises(NotAdmitted) as named:
        await seeded.store.read(lambda view: require_admission(view, door(seeded.app, STRANGER, admission, "NewComer")))
    with pytest.raises(NotAdmitted) as unnamed:
        await seeded.store.read(lambda view: require_admission(view, door(seeded.app, STRANGER, admission)))

    assert ("an agent of it names you" in named.value.hint) is names_members
    (call,) = named.value.data["suggested_tool_calls"]
    assert (call["tool"], call["arguments"]["name"]) == ("register_agent", "NewComer")
    assert "name" not in unnamed.value.data["suggested_tool_calls"][0]["arguments"]


async def test_a_code_lets_one_in_and_is_used_up_with_it(seeded: SeededStore) -> None:
    await invite(seeded)

    await come(seeded, door(seeded.app, WITH_CODE), token=b"1")

    assert await used_by(seeded) == "NewComer"
    with pytest.raises(JoinCodeRefused):
        await come(seeded, door(seeded.app, WITH_CODE), name="SecondOne", token=b"2")


async def test_a_code_of_another_project_is_refused_even_where_everybody_may_come_in(seeded: SeededStore) -> None:
    await invite(seeded)

    with pytest.raises(JoinCodeRefused):
        await come(seeded, door(seeded.lib, WITH_CODE, ProjectAdmission.OPEN), token=b"1")

    assert await used_by(seeded) is None


async def test_a_name_that_was_only_spoken_of_is_claimed_with_a_code_as_a_new_one_is(seeded: SeededStore) -> None:
    await invite(seeded)
    operator = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
    spoken_of = await come(seeded, door(seeded.app, operator), token=None)

    with pytest.raises(NotAdmitted):
        await seeded.store.write(lambda tx: claim_agent(tx, door(seeded.app), spoken_of, token_hash("mine")))
    await seeded.store.write(lambda tx: claim_agent(tx, door(seeded.app, WITH_CODE), spoken_of, token_hash("mine")))

    found = await seeded.store.read(lambda view: view.agents.find_by_token_hash(token_hash("mine")))
    assert found is not None
    assert (found.name, await used_by(seeded)) == ("NewComer", "NewComer")
