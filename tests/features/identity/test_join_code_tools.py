from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.identity.admission import LIFETIME_S, MIN_LIFETIME_S
from mcp_agent_mail.features.identity.join_code_tools import join_code_tools
from mcp_agent_mail.features.identity.join_codes import JoinCodeService
from tests.features.messaging.harness import APP, OPERATOR, Identities
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def call(seeded: SeededStore, tool: str, by: Credentials = OPERATOR, **arguments: Any) -> Any:
    tools = join_code_tools(JoinCodeService(seeded.store, clock=seeded.clock), Identities(seeded.store).caller)
    return await ToolTable(tools).run(tool, {"project_key": APP, **arguments}, by)


async def test_a_code_for_one_new_name_lasts_a_day_unless_said_otherwise(seeded: SeededStore) -> None:
    invited = await call(seeded, "create_join_code")
    short = await call(seeded, "create_join_code", lifetime_seconds=1)

    now = seeded.clock.now
    assert (invited["id"], invited["project"], invited["expires_ts"]) == (
        1,
        APP,
        iso(Micros(now + LIFETIME_S * SECOND)),
    )
    assert invited["join_code"].startswith("amj_")
    assert short["expires_ts"] == iso(Micros(now + MIN_LIFETIME_S * SECOND))


async def test_the_list_says_of_each_code_whether_it_is_open_used_or_expired(seeded: SeededStore) -> None:
    await call(seeded, "create_join_code", lifetime_seconds=60)
    used = await call(seeded, "create_join_code")
    await call(seeded, "create_join_code")
    await seeded.store.write(lambda tx: tx.join_codes.use(used["id"], seeded.blue.id, tx.now))
    used_at = iso(seeded.clock.now)
    seeded.clock.step(60)

    listed = await call(seeded, "list_join_codes")

    assert [(code["status"], code["used_by"], code["used_ts"]) for code in listed] == [
        ("open", None, None),
        ("used", "BlueLake", used_at),
        ("expired", None, None),
    ]
    assert await call(seeded, "list_join_codes", limit=1) == listed[:1]


async def test_a_code_that_nobody_has_used_is_taken_back(seeded: SeededStore) -> None:
    invited = await call(seeded, "create_join_code")

    revoked = await call(seeded, "revoke_join_code", join_code_id=invited["id"])

    assert revoked == {"id": invited["id"], "revoked": True}
    code = token_hash(invited["join_code"])
    assert await seeded.store.read(lambda view: view.join_codes.find(code)) is None


async def test_what_is_no_number_of_a_code_is_refused(seeded: SeededStore) -> None:
    with pytest.raises(InvalidInput):
        await call(seeded, "revoke_join_code", join_code_id=0)


async def test_over_mcp_there_are_no_such_tools(seeded: SeededStore) -> None:
    over_mcp = Credentials(via="mcp", bearer_token=OPERATOR.bearer_token)

    for tool, more in (("create_join_code", {}), ("list_join_codes", {}), ("revoke_join_code", {"join_code_id": 1})):
        with pytest.raises(NotFound):
            await call(seeded, tool, over_mcp, **more)
