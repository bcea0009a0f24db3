from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.tools import RecordedCaller
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.features.oversight.activity import OversightActivity, SeenActivity, SeenLease
from mcp_agent_mail.web.views.activity import reserved_rows, worker_rows
from tests.domain.leases_made import AT, make_lease
from tests.seeded_store import open_seeded_store
from tests.store.grants import grant

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.STRICT)
EMPTY = SeenActivity(
    agents=(), leases=(), has_more_agents=False, has_more_leases=False, has_more_projects=False, now=AT
)
MINUTE = 60
PROJECT = Project(id=ProjectId(1), slug="code-app", human_key="/code/app", created_ts=AT, archived_ts=None)


def held_for(seconds: int) -> Sequence[str]:
    lease = make_lease(expires_ts=Micros(AT + seconds * SECOND))
    seen = SeenLease(lease=lease, project=PROJECT)
    return [row.left for row in reserved_rows(replace(EMPTY, leases=(seen,)))]


@pytest.mark.parametrize(
    ("seconds", "left"),
    [
        (-5, "under 1m"),
        (MINUTE - 1, "under 1m"),
        (MINUTE, "1m"),
        (60 * MINUTE - 1, "59m"),
        (80 * MINUTE, "1h 20m"),
        (48 * 60 * MINUTE - 1, "47h 59m"),
        (48 * 60 * MINUTE, "2d"),
    ],
)
def test_how_long_a_reservation_lasts_yet_is_told_as_people_read_it(seconds: int, left: str) -> None:
    assert held_for(seconds) == [left]


def test_where_nothing_goes_on_there_are_no_rows() -> None:
    assert (worker_rows(EMPTY), reserved_rows(EMPTY)) == ([], [])


async def test_a_row_says_what_an_agent_called_last_and_whether_it_failed(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        usage = Usage(clock=seeded.clock)
        doer = RecordedCaller(project_id=seeded.app.id, agent_name="BlueLake")
        usage.note("send_message", 0.1, failed=True, project=None, doer=doer)

        rows = {
            (row.project, row.name): row
            for row in worker_rows(await OversightActivity(seeded.store, usage).look(OPERATOR))
        }

    blue, namesake = rows["code-app", "BlueLake"], rows["code-lib", "BlueLake"]
    assert (blue.project_name, blue.called, blue.called_ts, blue.has_failed) == (
        "app",
        "send_message",
        seeded.clock.now,
        True,
    )
    assert (namesake.project_name, namesake.called, namesake.called_ts, namesake.has_failed) == (
        "lib",
        None,
        None,
        False,
    )


async def test_a_row_says_who_holds_what_and_from_which_project(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        await grant(seeded, seeded.blue, "src/**", ttl_s=240)
        await grant(seeded, seeded.fox, "docs/**", exclusive=False, ttl_s=7_200)

        rows = reserved_rows(await OversightActivity(seeded.store, Usage(clock=seeded.clock)).look(OPERATOR))

    assert [(row.holder, row.project, row.project_name, row.pattern, row.is_exclusive, row.left) for row in rows] == [
        ("QuietFox", "code-lib", "lib", "docs/**", False, "2h 0m"),
        ("BlueLake", "code-app", "app", "src/**", True, "4m"),
    ]
