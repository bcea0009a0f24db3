from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.store.doors.profiles import record_profile
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import open_seeded_store

NEW = NewAgent(
    project_id=ProjectId(1),
    kind=AgentKind.AGENT,
    name="bob",
    program="postal",
    model="unknown",
    task_description="",
    attachments_policy=AttachmentsPolicy.AUTO,
    token_hash=None,
)


async def test_a_profile_has_the_names_that_doors_know_the_agent_by(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:

        def unit(tx: Tx) -> None:
            record_profile(tx, seeded.red, seeded.red.id)
            known = tx.wire_names.add(seeded.blue.project_id, seeded.blue.id, "blue", tx.now)
            tx.wire_names.link(tx.wire_names.own(known, Door.POSTAL), Door.AGENTMAIL)
            tx.agents.set_token_hash(seeded.blue.id, b"h" * 32)
            record_profile(tx, seeded.blue, None)

        await seeded.store.write(unit)

        events = await seeded.store.read(lambda view: view.outbox.pending(seeded.blue.project_id))
        told: list[tuple[AgentId | None, object]] = [
            (event.agent_id, event.snapshot.get("aliases")) for event in events if event.kind is EventKind.PROFILE
        ]
        alias = {
            "created_ts": iso(seeded.clock.now),
            "doors": ["agentmail"],
            "id": 1,
            "name": "blue",
            "owner": "postal",
        }
        assert told == [(seeded.red.id, None), (None, [alias])]


async def test_it_says_whether_somebody_has_spoken_as_it(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:

        def unit(tx: Tx) -> None:
            agent = tx.agents.add(NEW, tx.now)
            record_profile(tx, agent, None)
            tx.wire_names.add(agent.project_id, agent.id, "bob", tx.now)
            record_profile(tx, agent, None)
            tx.agents.set_token_hash(agent.id, b"h" * 32)
            record_profile(tx, agent, None)

        await seeded.store.write(unit)

        events = await seeded.store.read(lambda view: view.outbox.pending(NEW.project_id))
        assert [event.snapshot.get("unclaimed") for event in events] == [None, True, None]
