"""The tools behind `am acks`, called as a command calls them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.tools import Credentials, ToolTable, UnknownTool
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.messaging.owed_ack_tools import owed_ack_tools
from mcp_agent_mail.features.messaging.owed_acks import ReminderService
from tests.seeded_store import SeededStore, open_seeded_store

TTL_S = 1_800


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def _at_once() -> None:
    return None


def table(seeded: SeededStore) -> ToolTable:
    async def operator() -> Caller:
        return Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)

    return ToolTable(owed_ack_tools(ReminderService(seeded.store, ttl_s=TTL_S, throttle=_at_once), operator))


async def call(seeded: SeededStore, tool: str, **arguments: Any) -> Any:
    return await table(seeded).run(tool, {"project_key": "/code/app", **arguments}, Credentials(via="rpc"))


async def test_a_row_of_the_list_says_whose_which_and_since_when(seeded: SeededStore) -> None:
    message, _ = await seeded.post(seeded.letter(seeded.blue, ack_required=True), *seeded.addressed([seeded.red]))
    seeded.clock.step(TTL_S)

    answer = await call(seeded, "owed_acknowledgements")

    assert answer == {
        "project": "/code/app",
        "min_age_seconds": TTL_S,
        "owed": [
            {
                "message_id": message.id,
                "agent": "RedStone",
                "from": "BlueLake",
                "subject": "Plan",
                "kind": "to",
                "importance": "normal",
                "thread_id": None,
                "delivered_ts": iso(message.created_ts),
                "age_seconds": TTL_S,
                "read_at": None,
                "reminded_at": None,
            }
        ],
        "more": False,
    }


async def test_a_reminder_is_told_with_its_own_number(seeded: SeededStore) -> None:
    message, _ = await seeded.post(seeded.letter(seeded.blue, ack_required=True), *seeded.addressed([seeded.red]))

    answer = await call(seeded, "remind_acknowledgements", min_age_seconds=0)

    assert answer == {
        "project": "/code/app",
        "min_age_seconds": 0,
        "reminded": [
            {
                "message_id": message.id,
                "agent": "RedStone",
                "from": "BlueLake",
                "subject": "Plan",
                "reminder_id": message.id + 1,
            }
        ],
        "more": False,
    }
    (owed,) = (await call(seeded, "owed_acknowledgements", min_age_seconds=0))["owed"]
    assert owed["reminded_at"] == iso(seeded.clock.now)


@pytest.mark.parametrize("tool", ["owed_acknowledgements", "remind_acknowledgements"])
async def test_agents_do_not_know_of_them(seeded: SeededStore, tool: str) -> None:
    with pytest.raises(UnknownTool):
        await table(seeded).run(tool, {"project_key": "/code/app"}, Credentials(via="mcp"))


@pytest.mark.parametrize("tool", ["owed_acknowledgements", "remind_acknowledgements"])
async def test_an_age_is_not_below_zero(seeded: SeededStore, tool: str) -> None:
    with pytest.raises(InvalidInput):
        await call(seeded, tool, min_age_seconds=-1)
