"""The tool that lets old mail go, called as a server calls it."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import InvalidInput, PermissionDenied
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.retention.tools import retention_tools
from tests.features.retention.harness import ANYBODY, DAYS, OPERATOR, Attic


async def purge(attic: Attic, by: Caller = OPERATOR, **arguments: Any) -> Any:
    async def caller() -> Caller:
        return by

    table = ToolTable(retention_tools(attic.service(), caller))
    given = {"project_key": "/code/app", **arguments}
    return await table.run("purge_old_messages", given, Credentials(via="mcp"))


async def test_it_only_counts_unless_it_is_told_to_purge(attic: Attic) -> None:
    message = await attic.old(attic.seeded.red)
    counted = {"messages_affected": 1, "cutoff_date": iso(message.created_ts), "max_age_days": DAYS}

    dry = await purge(attic)
    real = await purge(attic, dry_run=False)

    assert (dry, real) == ({"status": "dry_run", **counted}, {"status": "purged", **counted})
    assert attic.searched() == []


async def test_an_age_that_is_given_takes_the_place_of_the_servers(attic: Attic) -> None:
    await attic.old(attic.seeded.red)

    older = await purge(attic, max_age_days=DAYS + 1)

    assert (older["messages_affected"], older["max_age_days"]) == (0, DAYS + 1)


@pytest.mark.parametrize("days", [0, -1, "soon"])
async def test_an_age_is_a_number_of_days_from_one_on(days: object, attic: Attic) -> None:
    with pytest.raises(InvalidInput):
        await purge(attic, max_age_days=days)


async def test_nobody_but_the_operator_purges(attic: Attic) -> None:
    with pytest.raises(PermissionDenied):
        await purge(attic, ANYBODY)
