from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from tests.server.whole_app import OPERATOR
from tests.web.acting import BILLS, SHOP, before_the_pages

THE_OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.STRICT)
NOBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)


async def test_mail_is_told_by_whose_human_it_came_to_and_what_was_done_with_it(tmp_path: Path) -> None:
    async with before_the_pages(tmp_path) as person:
        both = await person.write("BlueLake", "Human", cc=[f"Human@{await person.slug(BILLS)}"], ack_required=True)
        agents = await person.write("BlueLake", "GreenHill")
        bearer = {"Authorization": f"Bearer {OPERATOR}"}

        async def mark(tool: str, project: str) -> None:
            await person.app.call(tool, bearer, project_key=project, agent_name="Human", message_id=both)

        service = person.app.services.pages.human_mail
        ids = [MessageId(one) for one in (both, agents, 999)]
        fresh = await service.find(THE_OPERATOR, ids)
        await mark("mark_message_read", SHOP)
        half = await service.find(THE_OPERATOR, ids)
        await mark("acknowledge_message", BILLS)
        await mark("acknowledge_message", SHOP)
        done = await service.find(THE_OPERATOR, ids)

    assert list(fresh) == [both]
    assert sorted(one.human_key for one in fresh[MessageId(both)].projects) == [BILLS, SHOP]
    assert fresh[MessageId(both)].asks_ack
    assert half[MessageId(both)].read_ts is None
    assert done[MessageId(both)].read_ts is not None
    assert done[MessageId(both)].ack_ts is not None


async def test_it_is_the_operators_alone(tmp_path: Path) -> None:
    async with before_the_pages(tmp_path) as person:
        with pytest.raises(PermissionDenied):
            await person.app.services.pages.human_mail.find(NOBODY, [])
