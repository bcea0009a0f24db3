"""What proves a caller, as the store has it: tokens by their hashes, and agents as JWTs name them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import AgentId, token_hash
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.token_agents import AmbiguousClaim
from mcp_agent_mail.features.identity.proofs import claimed_agents, proofs_of
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def claimed(seeded: SeededStore, *texts: str) -> list[Agent]:
    found = (await seeded.store.read(lambda view: claimed_agents(view, texts))).agents
    return [next(known for known in everybody(seeded) if known.id == agent.id) for agent in found]


def everybody(seeded: SeededStore) -> list[Agent]:
    return [seeded.blue, seeded.red, seeded.green, seeded.fox, seeded.lib_blue]


async def test_an_agent_is_named_with_its_project_by_directory_or_slug(seeded: SeededStore) -> None:
    by_directory = await claimed(seeded, "BlueLake@/code/app", "BlueLake@/code/lib")
    by_slug = await claimed(seeded, f"bluelake@{seeded.lib.slug}")

    assert by_directory == [seeded.blue, seeded.lib_blue]
    assert by_slug == [seeded.lib_blue]


async def test_a_bare_name_counts_where_one_project_alone_has_it(seeded: SeededStore) -> None:
    assert await claimed(seeded, "RedStone", "BlueLake", "QuietFox") == [seeded.red, seeded.fox]


async def test_a_name_that_several_projects_have_is_told_with_the_addresses_that_would_do(seeded: SeededStore) -> None:
    texts = (" bluelake", "RedStone", "BlueLake@/code/app", "Nobody", "BlueLake@/nowhere")

    found = await seeded.store.read(lambda view: claimed_agents(view, texts))

    assert found.ambiguous == [
        AmbiguousClaim(name="bluelake", addresses=(f"BlueLake@{seeded.app.slug}", f"BlueLake@{seeded.lib.slug}"))
    ]
    assert [agent.id for agent in found.agents] == [seeded.red.id, seeded.blue.id]


async def test_the_operator_is_told_of_such_names_once_a_minute(
    seeded: SeededStore, caplog: pytest.LogCaptureFixture
) -> None:
    proofs = proofs_of(seeded.store, seeded.clock)

    async def call(*texts: str) -> list[dict[str, object]]:
        caplog.clear()
        await proofs.find_claimed(texts, None)
        return [record.facts for record in caplog.records if record.name == "mcp_agent_mail.identity"]  # type: ignore[attr-defined]  # ours

    unheard = await call("RedStone", "Nobody")
    (first,) = await call("BlueLake")
    again = await call("BlueLake"), await call("BlueLake")
    seeded.clock.step(59)
    early = await call("BlueLake")
    seeded.clock.step(1)
    (second,) = await call("BlueLake")

    assert (unheard, again, early) == ([], ([], []), [])
    addresses = [f"BlueLake@{seeded.app.slug}", f"BlueLake@{seeded.lib.slug}"]
    assert first == {"names": ["BlueLake"], "write": addresses, "calls": 1}
    assert second == {"names": ["BlueLake"], "write": addresses, "calls": 4}


async def test_those_of_the_project_that_the_call_names_come_first(seeded: SeededStore) -> None:
    both = ["BlueLake@/code/app", "BlueLake@/code/lib"]
    proofs = proofs_of(seeded.store, seeded.clock)

    there = [agent.id for agent in (await proofs.find_claimed(both, "/code/lib")).agents]
    here = [agent.id for agent in (await proofs.find_claimed(both, seeded.app.slug)).agents]
    nowhere = [agent.id for agent in (await proofs.find_claimed(both, "/nowhere")).agents]

    assert there == [seeded.lib_blue.id, seeded.blue.id]
    assert here == nowhere == [seeded.blue.id, seeded.lib_blue.id]


async def test_who_is_named_twice_is_proven_once_and_the_order_stays(seeded: SeededStore) -> None:
    assert await claimed(seeded, "QuietFox@/code/lib", "RedStone", " quietfox ") == [seeded.fox, seeded.red]


@pytest.mark.parametrize(
    "text",
    [
        *("Nobody", "Nobody@/code/app", "RedStone@/code/lib", "RedStone@/nowhere"),
        *("Human", "Human@/code/app", "System@/code/app", "System", "", "@", "@/code/app", "RedStone@", "Red%"),
    ],
)
async def test_what_names_no_agent_proves_nothing(seeded: SeededStore, text: str) -> None:
    assert await claimed(seeded, text) == []


async def test_a_mailbox_of_a_door_is_nobody_that_a_jwt_can_name(seeded: SeededStore) -> None:
    def mailbox(tx: Tx) -> Agent:
        new = NewAgent(
            project_id=seeded.app.id,
            kind=AgentKind.AGENT,
            name="bob",
            program=Door.POSTAL,
            model="",
            task_description="",
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        )
        return tx.agents.add(new, tx.now)

    await seeded.store.write(mailbox)

    assert await claimed(seeded, "bob", "bob@/code/app") == []


async def test_tokens_are_found_by_their_hash_and_agents_by_their_id(seeded: SeededStore) -> None:
    await seeded.store.write(lambda tx: tx.agents.set_token_hash(seeded.red.id, token_hash("amt_red")))
    proofs = proofs_of(seeded.store, seeded.clock)

    of_token = await proofs.find_agent(token_hash("amt_red"))
    of_id = await proofs.find_agent_by_id(seeded.fox.id)
    of_claim = await proofs.find_claimed(["QuietFox"], None)

    assert (of_token and of_token.name, of_id and of_id.name) == ("RedStone", "QuietFox")
    assert [agent.name for agent in of_claim.agents] == ["QuietFox"]
    assert await proofs.find_agent(token_hash("amt_other")) is None
    assert await proofs.find_agent_by_id(AgentId(999)) is None
    assert await proofs.find_join_code(token_hash("amj_none")) is None
