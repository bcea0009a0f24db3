from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import SECOND
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.contacts import REQUEST_TTL_S, LinkStatus
from tests.features.importing.scripted import at, link, whole_store
from tests.features.importing.test_service import bring, found
from tests.rebuild.world import World

APP, LIB = "/old/app", "/old/lib"
LINKS = """
SELECT s.name, t.name, c.status, c.created_ts, c.updated_ts, c.expires_ts FROM contacts c
JOIN agents s ON s.id = c.source_id JOIN agents t ON t.id = c.target_id ORDER BY c.id
"""


async def test_direction_expiry_and_times_stay(world: World) -> None:
    await bring(world, whole_store())

    assert world.rows(LINKS) == [
        ("BlueLake", "QuietFox", "approved", at(30), at(40), at(1_000_000_000)),
        ("QuietFox", "BlueLake", "blocked", at(30), at(40), None),
        ("RedStone", "QuietFox", "pending", at(30), at(40), at(40) + REQUEST_TTL_S * SECOND),
    ]


async def test_a_denial_stays_a_denial_and_nobody_is_asked(world: World) -> None:
    await bring(world, whole_store())

    with pytest.raises(AgentMailError) as refused:
        await world.call(
            "send_message", project_key=LIB, sender_name="QuietFox", to=[f"BlueLake@{APP}"], subject="x", body_md="x"
        )

    assert refused.value.code == "CONTACT_BLOCKED"
    assert world.rows("SELECT count(*) FROM messages WHERE subject LIKE 'Contact request%'") == [(0,)]


async def test_what_the_two_agreed_here_stands(world: World) -> None:
    reader = whole_store()
    await bring(world, reader)
    reader.all_links.append(link("k9", "a1", "a5", LinkStatus.BLOCKED))
    reader.all_links.append(link("k10", "a1", "a1", LinkStatus.APPROVED))

    report = await bring(world, reader)

    assert found(report)["links"] == (0, 3, 2)
    assert len(world.rows(LINKS)) == 3
