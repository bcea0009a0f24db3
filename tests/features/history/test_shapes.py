from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.ids import AgentId, LeaseId, ProjectId
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKind
from mcp_agent_mail.features.history.results import HeldLease
from mcp_agent_mail.features.history.shapes import show_held_lease

CREATED, EXPIRES, CALLED = Micros(1_000_000), Micros(2_000_000), Micros(1_500_000)
LEASE = Lease(
    id=LeaseId(7),
    project_id=ProjectId(1),
    agent_id=AgentId(3),
    agent="BlueLake",
    kind=LeaseKind.FILE,
    path_pattern="src/**",
    is_folder=False,
    ignore_case=False,
    exclusive=True,
    reason="the lexer",
    branch=None,
    created_ts=CREATED,
    expires_ts=EXPIRES,
    released_ts=None,
    ended_by=None,
    evidence=None,
    fencing=9,
)


def test_a_live_lease_says_when_its_holder_called_and_what_nobody_looked_at_is_null() -> None:
    shown = show_held_lease(HeldLease(lease=LEASE, is_live=True, agent_ts=CALLED))

    assert (shown["id"], shown["agent"], shown["fencing"], shown["live"]) == (7, "BlueLake", 9, True)
    assert shown["last_agent_activity_ts"] == iso(CALLED)
    assert [shown[f"last_{what}_activity_ts"] for what in ("mail", "filesystem", "git")] == [None, None, None]
    assert (shown["stale"], shown["stale_reasons"], shown["released_ts"], shown["ended_by"]) == (False, [], None, None)


def test_an_end_for_idleness_shows_what_it_rested_on() -> None:
    evidence = {"stale": True, "stale_reasons": ["agent_inactive>1800s"], "last_agent_activity_ts": iso(CREATED)}
    ended = replace(LEASE, released_ts=CALLED, ended_by=EndedBy.IDLE, evidence=evidence)

    shown = show_held_lease(HeldLease(lease=ended, is_live=False))

    assert {key: shown[key] for key in evidence} == evidence
    assert (shown["ended_by"], shown["released_ts"], shown["live"]) == ("idle", iso(CALLED), False)
