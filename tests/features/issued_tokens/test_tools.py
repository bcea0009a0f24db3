from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
from mcp_agent_mail.features.issued_tokens.service import IssuedTokenService
from mcp_agent_mail.features.issued_tokens.tools import issued_token_tools
from tests.features.messaging.harness import APP, OPERATOR, Identities
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def tools(seeded: SeededStore) -> ToolTable:
    book = IssuedTokenBook(seeded.store, clock=seeded.clock)
    service = IssuedTokenService(seeded.store, book, clock=seeded.clock)
    return ToolTable(issued_token_tools(service, Identities(seeded.store).caller))


async def call(tools: ToolTable, tool: str, by: Credentials = OPERATOR, **arguments: Any) -> Any:
    return await tools.run(tool, arguments, by)


async def test_a_token_is_shown_by_its_first_answer_alone(seeded: SeededStore, tools: ToolTable) -> None:
    issued = await call(tools, "create_issued_token", agent_name="BlueLake", project_key=APP, note="build machine")

    listed = await call(tools, "list_issued_tokens")

    token = issued.pop("token")
    assert token.startswith("amk_")
    assert issued == {
        "id": 1,
        "status": "live",
        "role": "writer",
        "agent": "BlueLake",
        "project": APP,
        "note": "build machine",
        "created_ts": iso(seeded.clock.now),
        "expires_ts": iso(Micros(seeded.clock.now + 90 * 86_400 * SECOND)),
        "revoked_ts": None,
        "last_used_ts": None,
    }
    assert listed == [issued]


async def test_the_list_says_what_became_of_each(seeded: SeededStore, tools: ToolTable) -> None:
    for role, expires in (("operator", "never"), ("reader", "1m"), ("writer", "1d")):
        await call(tools, "create_issued_token", role=role, expires=expires)
    revoked = await call(tools, "revoke_issued_token", issued_token_id=3)
    revoked_at = iso(seeded.clock.now)
    seeded.clock.step(60)

    live = await call(tools, "list_issued_tokens")
    everything = await call(tools, "list_issued_tokens", include_ended=True)

    assert revoked == {"id": 3, "revoked_ts": revoked_at}
    assert [(row["id"], row["status"], row["role"], row["expires_ts"]) for row in live] == [
        (1, "live", "operator", None)
    ]
    assert [(row["id"], row["status"], row["revoked_ts"]) for row in everything] == [
        (3, "revoked", revoked_at),
        (2, "expired", None),
        (1, "live", None),
    ]
    assert await call(tools, "list_issued_tokens", include_ended=True, limit=1) == everything[:1]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_issued_token", {"role": "admin"}),
        ("create_issued_token", {"expires": "tomorrow"}),
        ("create_issued_token", {"note": "x" * 201}),
        ("create_issued_token", {"agent_name": "BlueLake"}),
        ("revoke_issued_token", {"issued_token_id": 0}),
    ],
)
async def test_what_is_not_right_is_refused(tool: str, arguments: dict[str, Any], tools: ToolTable) -> None:
    with pytest.raises(InvalidInput):
        await call(tools, tool, **arguments)


async def test_over_mcp_there_are_no_such_tools(tools: ToolTable) -> None:
    over_mcp = Credentials(via="mcp", bearer_token=OPERATOR.bearer_token)

    for tool, arguments in (
        ("create_issued_token", {}),
        ("list_issued_tokens", {}),
        ("revoke_issued_token", {"issued_token_id": 1}),
    ):
        with pytest.raises(NotFound):
            await call(tools, tool, over_mcp, **arguments)
