"""Whose registration token counts on a connection that is for certain agents, and who is told that it does not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.identity.claimed_names import ClaimedName
from mcp_agent_mail.features.identity.callers import ProofsDiffer
from mcp_agent_mail.features.identity.claimed_names import is_named
from mcp_agent_mail.store.transaction import View
from tests.features.identity.harness import PROJECT, IdentityHarness, open_identity

OTHER = "/code/lib"


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[IdentityHarness]:
    async with open_identity(tmp_path) as opened:
        for key in (PROJECT, OTHER):
            await opened.call("ensure_project", human_key=key)
        yield opened


def claiming(*names: str) -> Credentials:
    return Credentials(via="mcp", claimed_agents=names)


@pytest.mark.parametrize(
    ("names", "new", "project_key", "is_told"),
    [
        ((f"Ann@{PROJECT}",), "Ann", OTHER, True),
        ((f"Ann@{PROJECT}",), "Bob", PROJECT, True),
        ((f"Ann@{PROJECT}", f"ann@{OTHER}"), "Ann", OTHER, False),
        # Also where none of those is there (yet).
        ((f"Zoe@{PROJECT}",), "Bob", PROJECT, True),
        ((f"Zoe@{PROJECT}",), "Zoe", PROJECT, False),
        (("Ann",), "Ann", OTHER, False),
        (("Ann", "bob"), "Bob", PROJECT, False),
    ],
)
async def test_who_is_new_is_told_that_its_token_counts_for_nothing_where_that_is_so(
    harness: IdentityHarness, names: tuple[str, ...], new: str, project_key: str, is_told: bool
) -> None:
    await harness.register("Ann")

    made = await harness.register(new, by=claiming(*names), project_key=project_key)
    with_its_token = Credentials(via="mcp", claimed_agents=names, agent_token=made["registration_token"])
    again = harness.register(new, by=with_its_token, project_key=project_key)

    assert (f"the new {new}'s registration_token counts for nothing on it" in made.get("hint", "")) is is_told
    if is_told:
        with pytest.raises(ProofsDiffer):
            await again
    else:
        assert (await again)["verified"] is True


async def test_a_token_that_was_issued_is_for_one_agent_and_none_of_its_name(harness: IdentityHarness) -> None:
    ann = await harness.register("Ann")

    made = await harness.register("Ann", by=Credentials(via="mcp", issued_to=AgentId(ann["id"])), project_key=OTHER)

    assert "This connection acts as Ann alone: the new Ann's registration_token counts for nothing" in made["hint"]


async def test_a_name_with_its_project_names_the_agent_there_and_a_bare_one_the_only_one(
    harness: IdentityHarness,
) -> None:
    ids = [(await harness.register(name, project_key=key))["id"] for name, key in (("Ann", PROJECT), ("Ann", OTHER))]
    ids.append((await harness.register("Bob"))["id"])

    async def named(text: str) -> list[bool]:
        claimed = ClaimedName.parse(text)

        def look(view: View) -> list[bool]:
            agents = [view.agents.find(AgentId(one)) for one in ids]
            return [agent is not None and is_named(view, claimed, agent) for agent in agents]

        return await harness.store.read(look)

    assert await named(f"ann@{PROJECT}") == [True, False, False]
    assert await named("Ann@/code/nowhere") == [False, False, False]
    assert await named("Ann") == [False, False, False]
    assert await named(" bob ") == [False, False, True]
