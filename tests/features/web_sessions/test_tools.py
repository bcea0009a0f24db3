from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.web_sessions import LINK_LIFETIME
from mcp_agent_mail.features.web_sessions.service import WebSessionService
from mcp_agent_mail.features.web_sessions.token_roles import TokenRoles
from mcp_agent_mail.features.web_sessions.tools import web_session_tools
from tests.seeded_store import SeededStore, open_seeded_store

NOBODY = Credentials(via="rpc")


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


def parts(seeded: SeededStore, kind: CallerKind) -> tuple[WebSessionService, ToolTable]:
    service = WebSessionService(seeded.store, tokens=TokenRoles(find_issued=lambda _: None), clock=seeded.clock)

    async def caller() -> Caller:
        return Caller(kind=kind, auth=AgentAuth.OPEN)

    return service, ToolTable(web_session_tools(service, caller))


async def test_the_operator_gets_a_path_that_signs_in_within_a_minute(seeded: SeededStore) -> None:
    service, tools = parts(seeded, CallerKind.OPERATOR)

    made = await tools.run("create_sign_in_link", {}, NOBODY)

    assert isinstance(made, dict)
    path, _, code = str(made["path"]).partition("?link=")
    assert path == "/mail/sign-in"
    assert made["expires_ts"] == iso(seeded.clock.now + LINK_LIFETIME)  # type: ignore[arg-type]
    assert (await service.open_by_link(code)).secret


@pytest.mark.parametrize("kind", [kind for kind in CallerKind if kind is not CallerKind.OPERATOR])
async def test_nobody_else_does(seeded: SeededStore, kind: CallerKind) -> None:
    _, tools = parts(seeded, kind)

    with pytest.raises(PermissionDenied):
        await tools.run("create_sign_in_link", {}, NOBODY)


async def test_agents_do_not_see_it(seeded: SeededStore) -> None:
    spec = parts(seeded, CallerKind.OPERATOR)[1].find("create_sign_in_link")

    assert spec is not None
    assert spec.operator_only
