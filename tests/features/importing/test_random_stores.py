from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import ContactBlocked, ContactRequired
from mcp_agent_mail.domain.importing.records import SourceKind
from tests.crash.importing import random_store
from tests.features.importing.scripted import ScriptedReader
from tests.features.importing.test_service import bring
from tests.rebuild.histories import Played
from tests.rebuild.rebuilding import compare, rebuild
from tests.rebuild.world import World

MESSAGES = 80
STEPS = 60
OWN = """
SELECT a.name, p.human_key FROM agents a JOIN projects p ON p.id = a.project_id WHERE a.kind = 'agent' ORDER BY a.id
"""
UNREAD = """
SELECT r.message_id, a.name, p.human_key FROM recipients r JOIN agents a ON a.id = r.agent_id
JOIN projects p ON p.id = a.project_id WHERE r.read_ts IS NULL ORDER BY r.message_id, a.id
"""
READ = "SELECT message_id, agent_id, read_ts FROM recipients WHERE read_ts IS NOT NULL ORDER BY 1, 2"


def begun(whole: ScriptedReader, count: int) -> ScriptedReader:
    """The store as it was when it had so many messages."""
    reader = ScriptedReader(**vars(whole))
    reader.all_messages = whole.all_messages[:count]
    reader.all_leases = whole.all_leases if count == len(whole.all_messages) else []
    return reader


async def live(world: World, whole: ScriptedReader, chance: random.Random) -> None:
    """Imports of a store that goes on growing, among calls of its agents here; what was read here stays read."""
    count = 0
    await bring(world, begun(whole, count))
    for _ in range(STEPS):
        world.clock.step(chance.uniform(0, 100))
        read = set(world.rows(READ))
        what = chance.random()
        if what < 0.2:
            count = chance.randint(count, len(whole.all_messages))
            await bring(world, begun(whole, count))
        elif what < 0.6 and (unread := world.rows(UNREAD)):
            message_id, name, key = chance.choice(unread)
            await world.call("mark_message_read", project_key=key, agent_name=name, message_id=message_id)
        else:
            await _send(world, chance)
        assert read <= set(world.rows(READ))
    await bring(world, whole)


async def _send(world: World, chance: random.Random) -> None:
    (sender, key), (to, other) = chance.sample(world.rows(OWN), 2)
    with suppress(ContactBlocked, ContactRequired):
        await world.call(
            "send_message", project_key=key, sender_name=sender, to=[f"{to}@{other}"], subject="Native", body_md="x"
        )


@pytest.mark.parametrize("seed", range(4))
async def test_what_comes_in_among_other_work_is_there_once_and_is_rebuilt(
    world: World, tmp_path: Path, seed: int
) -> None:
    whole = random_store(seed, MESSAGES)

    await live(world, whole, random.Random(seed))
    again = await bring(world, whole)
    await world.drain()

    subjects = world.rows("SELECT subject FROM messages WHERE subject LIKE 'About %' ORDER BY id")
    assert [one for (one,) in subjects] == [one.subject for one in whole.all_messages]
    assert {kind: one.added for kind, one in again.counts.items()} == dict.fromkeys(SourceKind, 0)
    for kind, one in again.counts.items():
        assert one.found == one.added + one.known + one.left, kind
    played = Played(root=world.settings.storage_root, now=world.clock.now, succeeded=Counter(), refused=Counter())
    compared = await compare(played, rebuild(played, tmp_path / "rebuilt"), tmp_path / "asked")
    assert compared.is_equal, str(compared)
