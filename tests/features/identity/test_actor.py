from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.names import UnknownAgent
from mcp_agent_mail.features.identity.actor import Actor, require_actor
from mcp_agent_mail.features.identity.lookup import AmbiguousName, find_current
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store

ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
DOOR = Door.CLAUDE_MAILBOX


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def add_mailbox(seeded: SeededStore, name: str, *, own: str, left: str | None = None) -> Agent:
    """A door knows it by `own`, and knew it by `left`; natively it is `name`."""

    def unit(tx: Tx) -> Agent:
        new = NewAgent(
            project_id=seeded.app.id,
            kind=AgentKind.AGENT,
            name=name,
            program=DOOR.value,
            model="",
            task_description="",
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        )
        agent = tx.agents.add(new, tx.now)
        tx.wire_names.own(tx.wire_names.add(seeded.app.id, agent.id, own, tx.now), DOOR)
        if left is not None:
            tx.wire_names.add(seeded.app.id, agent.id, left, tx.now)
        return agent

    return await seeded.store.write(unit)


async def acting_as(seeded: SeededStore, name: str) -> Actor:
    return await seeded.store.read(lambda view: require_actor(view, ANYBODY, seeded.app.human_key, name))


async def test_who_acts_by_the_projects_path_as_two_mailboxes_is_asked_which(seeded: SeededStore) -> None:
    await add_mailbox(seeded, "carl", own="innocent")
    await add_mailbox(seeded, "GreyOtter", own="carl")

    with pytest.raises(AmbiguousName) as refused:
        await acting_as(seeded, "Carl")

    assert refused.value.data["names"] == ["GreyOtter", "innocent"]


async def test_a_mailbox_that_is_one_acts_by_its_native_name_and_the_one_it_has(seeded: SeededStore) -> None:
    mailbox = await add_mailbox(seeded, "carl", own="innocent")

    assert [(await acting_as(seeded, name)).agent for name in ("carl", "innocent")] == [mailbox, mailbox]


async def test_nobody_acts_unproven_as_a_mailbox_by_a_name_that_it_has_left(seeded: SeededStore) -> None:
    await add_mailbox(seeded, "carl", own="innocent", left="my session")

    with pytest.raises(UnknownAgent) as refused:
        await acting_as(seeded, "My Session")

    assert refused.value.message == "'My Session' is a former name of carl."
    assert refused.value.data["nearest"] == ["carl"]


@pytest.mark.parametrize(("name", "is_found"), [("carl", True), ("innocent", True), ("my session", False)])
async def test_a_name_that_a_rename_has_left_is_of_nobody_now(
    seeded: SeededStore, name: str, *, is_found: bool
) -> None:
    mailbox = await add_mailbox(seeded, "carl", own="innocent", left="my session")

    found = await seeded.store.read(lambda view: find_current(view, seeded.app.id, name))

    assert found == (mailbox if is_found else None)
