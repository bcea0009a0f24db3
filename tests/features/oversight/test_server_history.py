"""The figures of the last day: of each minute what came in it, for the operator alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.features.oversight import server_history
from mcp_agent_mail.features.oversight.server_history import FigureHistory
from tests.seeded_store import open_seeded_store

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)


async def test_each_note_holds_what_came_since_the_one_before(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        usage = Usage(clock=seeded.clock)
        history = FigureHistory(seeded.store, usage, [("HTTP_PORT", "1")], clock=seeded.clock)
        usage.note("send_message", 0.1, failed=False, project=None)
        await history.note()
        seeded.clock.step(60)
        usage.note("send_message", 0.1, failed=True, project=None)
        usage.note("whois", 0.2, failed=False, project=None)
        await history.note()
        seeded.clock.step(60)
        await history.note()

        seen = history.look(OPERATOR)

    assert [(one.calls, one.errors) for one in seen.minutes] == [(1, 0), (2, 1), (0, 0)]
    assert seen.minutes[2].p95_s is None
    assert seen.minutes[1].at - seen.minutes[0].at == 60_000_000
    assert [(name, one.calls) for name, one in seen.tools] == [("send_message", 2), ("whois", 1)]


async def test_no_more_is_kept_than_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_history, "KEPT", 2)
    async with open_seeded_store(tmp_path) as seeded:
        history = FigureHistory(seeded.store, Usage(clock=seeded.clock), [], clock=seeded.clock)
        for _ in range(3):
            await history.note()

        assert len(history.look(OPERATOR).minutes) == 2


async def test_nobody_but_the_operator_sees_them(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        history = FigureHistory(seeded.store, Usage(clock=seeded.clock), [], clock=seeded.clock)

        with pytest.raises(PermissionDenied):
            history.look(Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN))
