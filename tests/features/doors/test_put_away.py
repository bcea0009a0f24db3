"""A mailbox that the operator has retired, beside one that was idle."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.identity.actor import AgentRetired
from mcp_agent_mail.features.identity.admission import NamingRules
from mcp_agent_mail.features.identity.callers import AuthRules
from mcp_agent_mail.features.identity.register import Registration, Supplies, register
from mcp_agent_mail.features.identity.service import IdentityService
from tests.features.doors.harness import HOME, OPERATOR, DoorsHarness, at, open_doors

STATE = "SELECT retired_ts IS NOT NULL, retired_by_operator FROM agents WHERE name = 'alice'"


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[DoorsHarness]:
    async with open_doors(tmp_path) as opened:
        await opened.send("alice", "bob", "hi")
        yield opened


@pytest.fixture
async def identity(harness: DoorsHarness) -> AsyncIterator[IdentityService]:
    seeded = harness.seeded
    async with Activity(seeded.store, clock=seeded.clock, interval_s=600) as activity:
        rules = AuthRules(auth=AgentAuth.OPEN, operator_token="amo_operator")
        new_names = NamingRules(enforcement=NameEnforcement.FREE)
        yield IdentityService(seeded.store, activity, rules=rules, new_names=new_names, clock=seeded.clock)


async def test_whom_the_operator_has_retired_the_operator_alone_brings_back(
    harness: DoorsHarness, identity: IdentityService
) -> None:
    await identity.retire(OPERATOR, HOME, "alice")

    refusals = []
    for sender, to in (("alice", "bob"), ("bob", "alice")):
        with pytest.raises(AgentRetired) as refused:
            await harness.send(sender, to, "again")
        refusals.append(refused.value.hint)
    with pytest.raises(AgentRetired):
        await harness.doors.pop(at("alice"), wait_s=0)
    kept = await harness.rows(STATE)
    await identity.unretire(OPERATOR, HOME, "alice")
    await harness.send("bob", "alice", "there again")

    ((slug,),) = await harness.rows(f"SELECT slug FROM projects WHERE human_key = '{HOME}'")
    assert refusals == [f"The operator brings it back: am agents unretire alice --project {slug}"] * 2
    assert (kept, await harness.rows(STATE)) == ([(1, 1)], [(0, 0)])


async def test_no_rename_no_registration_and_no_agents_word_brings_it_back(
    harness: DoorsHarness, identity: IdentityService
) -> None:
    await harness.seeded.store.write(
        lambda tx: tx.wire_names._connection.execute("UPDATE wire_names SET owner = 'claude-mailbox'").rowcount
    )
    await identity.retire(OPERATOR, HOME, "alice")
    anybody = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
    wanted = Registration(
        project_key=HOME,
        program="codex",
        model="m",
        name="alice",
        task_description="",
        attachments_policy=AttachmentsPolicy.AUTO,
    )

    with pytest.raises(AgentRetired, match="retired by the operator"):
        await harness.mailboxes.rename(at("alice", Door.CLAUDE_MAILBOX), "alicia")
    supplies = Supplies(new_names=NamingRules(enforcement=NameEnforcement.FREE), candidates=["BlueLake"], token="t")
    with pytest.raises(AgentRetired, match="retired by the operator"):
        await harness.seeded.store.write(lambda tx: register(tx, anybody, wanted, supplies))
    with pytest.raises(AgentRetired, match="retired by the operator"):
        await identity.unretire(anybody, HOME, "alice")

    assert await harness.rows(STATE) == [(1, 1)]
    await harness.seeded.store.write(lambda tx: register(tx, OPERATOR, wanted, supplies))
    assert await harness.rows(STATE) == [(0, 0)]


async def test_the_operators_word_counts_for_a_mailbox_that_was_idle_already(
    harness: DoorsHarness, identity: IdentityService
) -> None:
    await harness.seeded.store.write(
        lambda tx: tx.agents._connection.execute("UPDATE agents SET retired_ts = 1 WHERE name = 'alice'").rowcount
    )

    acted = await identity.retire(OPERATOR, HOME, "alice")

    assert (acted.agent.retired_ts, acted.agent.retired_by_operator) == (1, True)
    with pytest.raises(AgentRetired):
        await harness.send("bob", "alice", "hi")
