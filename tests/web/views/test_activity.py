from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.tools import RecordedCaller
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.features.oversight.activity import OversightActivity, SeenActivity
from mcp_agent_mail.web.views.activity import reserved_rows, worker_rows
from tests.domain.leases_made import AT
from tests.seeded_store import open_seeded_store
from tests.store.grants import grant

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.STRICT)
EMPTY = SeenActivity(
    agents=(), leases=(), has_more_agents=False, has_more_leases=False, has_more_projects=False, now=AT
)
PROJECT = Project(id=ProjectId(1), slug="code-app", human_key="/code/app", created_ts=AT, archived_ts=None)


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

    assert [(row.holder, row.project, row.project_name, row.pattern, row.is_exclusive) for row in rows] == [
        ("QuietFox", "code-lib", "lib", "docs/**", False),
        ("BlueLake", "code-app", "app", "src/**", True),
    ]
