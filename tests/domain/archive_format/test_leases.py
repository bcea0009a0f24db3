from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import LeaseId, ProjectId
from mcp_agent_mail.domain.archive_format.leases import (
    Snapshot,
    is_stand_in,
    lease_changes,
    lease_file,
    lease_path,
    lease_snapshot,
    stand_in,
)
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKind
from mcp_agent_mail.domain.projects import Project
from tests.domain.leases_made import AT, make_lease

PROJECT = Project(id=ProjectId(1), slug="code-app", human_key="/code/app", created_ts=AT, archived_ts=None)
LIVE = "file_reservations/id-1007.json"
RELEASED = "file_reservations/released/2027/01/1000-1499/id-1007.json"
ENDED = make_lease(released_ts=AT, ended_by=EndedBy.RELEASE)


def snapshot(lease: Lease, lapsed_ts: Micros | None = None) -> Snapshot:
    return lease_snapshot(lease, PROJECT, lapsed_ts=lapsed_ts)


def test_a_snapshot_is_json_and_holds_what_an_end_rests_on() -> None:
    lease = replace(ENDED, evidence={"idle_s": 5})

    made = snapshot(lease)

    assert json.loads(json.dumps(made)) == made
    assert (made["ended_by"], made["evidence"], made["lapsed_ts"]) == ("release", {"idle_s": 5}, None)
    assert (snapshot(make_lease())["ended_by"], snapshot(make_lease())["evidence"]) == (None, None)


@pytest.mark.parametrize(
    ("lease", "lapsed_ts", "changes"),
    [
        (make_lease(), None, {LIVE: True}),
        (ENDED, None, {LIVE: False, RELEASED: True}),
        (make_lease(), AT, {LIVE: True, RELEASED: False}),
    ],
    ids=["live", "ended", "granted anew"],
)
def test_a_lease_has_one_file_and_where_it_lay_before_there_is_none(
    lease: Lease, lapsed_ts: Micros | None, changes: dict[str, bool]
) -> None:
    made = lease_changes(EventKind.RESERVATION, snapshot(lease, lapsed_ts), FORMAT_VERSION)

    assert {path: content is not None for path, content in made.items()} == changes


def test_ended_leases_lie_by_month_and_by_five_hundred() -> None:
    assert lease_path(EventKind.RESERVATION, LeaseId(1_007), AT, FORMAT_VERSION) == RELEASED
    assert (
        lease_path(EventKind.SLOT, LeaseId(499), AT, FORMAT_VERSION) == "build_slots/released/2027/01/0-499/id-499.json"
    )
    assert lease_path(EventKind.SLOT, LeaseId(7), None, FORMAT_VERSION) == "build_slots/id-7.json"


def test_a_reservations_file_tells_of_its_files_and_a_slots_of_its_slot() -> None:
    of_files = json.loads(lease_file(EventKind.RESERVATION, snapshot(ENDED)))
    of_slot = json.loads(lease_file(EventKind.SLOT, snapshot(make_lease("build", kind=LeaseKind.SLOT))))

    assert (of_files["path_pattern"], of_files["reason"]) == ("src/**", "why")
    assert of_files["released_ts"] == "2027-01-15T08:00:00.000000+00:00"
    assert of_slot["slot"] == "build"
    assert of_slot["released_ts"] is None
    assert of_slot.keys().isdisjoint({"path_pattern", "is_folder", "ignore_case", "reason"})
    assert "slot" not in of_files


def test_only_a_stand_in_is_one() -> None:
    made = snapshot(make_lease())

    assert (is_stand_in(made), is_stand_in(stand_in(made))) == (False, True)
    assert lease_file(EventKind.RESERVATION, stand_in(made)) == lease_file(EventKind.RESERVATION, made)
