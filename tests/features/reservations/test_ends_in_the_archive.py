"""What an end rests on stands in the archived file, and the file can be rendered again from the database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.store.lease_events import end_leases, record_event
from tests.archive_harness import ArchiveHarness, open_archive_harness

EVIDENCE = {"stale": True, "stale_reasons": ["agent_inactive>1800s"], "note": "said `so`\n"}


def held(harness: ArchiveHarness, kind: LeaseKind) -> Lease:
    project = harness.add_project(f"/code/{kind.value}")
    agent = harness.add_agent(project, "BlueLake")
    now = harness.clock()
    new = NewLease(
        project_id=project.id,
        agent_id=agent.id,
        agent=agent.name,
        kind=kind,
        path_pattern="build",
        keys=LeaseKeys(anchor="build"),
        exclusive=True,
        reason="",
        expires_ts=Micros(now + 3_600 * SECOND),
        branch="main",
    )
    lease = harness.tx.leases.add(new, now)
    record_event(harness.tx, lease, project, acting=agent)
    return lease


def files_of(harness: ArchiveHarness, folder: str) -> dict[str, Any]:
    (archive,) = (path for path in (harness.root / "projects").glob("code-*") if path.is_dir())
    found = sorted((archive / folder).rglob("*.json"))
    return {str(path.relative_to(archive)): json.loads(path.read_text()) for path in found}


def test_the_evidence_of_an_idle_end_is_in_the_archive_and_the_archive_is_whole(tmp_path: Path) -> None:
    with open_archive_harness(tmp_path) as harness:
        lease = held(harness, LeaseKind.FILE)
        harness.archive()
        end_leases(harness.tx, [lease], EndedBy.IDLE, evidence={lease.id: EVIDENCE})

        harness.archive()

        ((path, document),) = files_of(harness, "file_reservations").items()
        assert path.startswith("file_reservations/released/")
        assert (document["ended_by"], document["evidence"]) == ("idle", EVIDENCE)
        assert harness.verify().is_clean


def test_a_slot_is_in_the_archive_while_held_and_among_the_released_after(tmp_path: Path) -> None:
    with open_archive_harness(tmp_path) as harness:
        lease = held(harness, LeaseKind.SLOT)
        harness.archive()
        live = files_of(harness, "build_slots")
        is_clean = harness.verify().is_clean
        end_leases(harness.tx, [lease], EndedBy.RELEASE)

        harness.archive()

        assert list(live) == [f"build_slots/id-{lease.id}.json"]
        assert (live[f"build_slots/id-{lease.id}.json"]["slot"], is_clean) == ("build", True)
        ((path, document),) = files_of(harness, "build_slots").items()
        assert (path.split("/")[1], document["ended_by"]) == ("released", "release")
        assert harness.verify().is_clean
