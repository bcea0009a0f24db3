from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.leases import KIND_OF_EVENT
from mcp_agent_mail.domain.contacts import LinkStatus
from mcp_agent_mail.domain.events import ArchiveCommit, EventKind, NewEvent
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.domain.messages import ReceiptStep
from mcp_agent_mail.domain.projects import AliasKind, Project
from mcp_agent_mail.store.checks import artifacts as artifacts_module
from mcp_agent_mail.store.checks.artifacts import open_artifacts, read_store_id
from mcp_agent_mail.store.engine.sqlite.migrate import NewerStore
from mcp_agent_mail.store.engine.sqlite.schema import ForeignParts
from mcp_agent_mail.store.lease_events import end_leases, record_event
from tests.archive_harness import ArchiveHarness, open_archive_harness
from tests.store.foreign_parts import change, put_view


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ArchiveHarness]:
    with open_archive_harness(tmp_path) as opened:
        yield opened


def mark(harness: ArchiveHarness, project: Project, hexsha: str = "a" * 40) -> ArchiveCommit:
    """Everything that is pending for the project is in Git."""
    last_seq = harness.tx.outbox.highest_seq()
    commit = ArchiveCommit(
        project_id=project.id, hexsha=hexsha, summary="archive: n events", authored_ts=Micros(7), last_seq=last_seq
    )
    harness.tx.outbox.mark(commit)
    return commit


def grant(harness: ArchiveHarness, agent: Agent, kind: LeaseKind) -> Lease:
    new = NewLease(
        project_id=agent.project_id,
        agent_id=agent.id,
        agent=agent.name,
        kind=kind,
        path_pattern="build",
        keys=LeaseKeys(anchor="build"),
        exclusive=True,
        reason="",
        expires_ts=Micros(harness.clock() + 60 * SECOND),
    )
    return harness.tx.leases.add(new, harness.clock())


def add_event(harness: ArchiveHarness, project: Project, kind: EventKind, **snapshot: object) -> None:
    event = NewEvent(project_id=project.id, kind=kind, agent_id=None, message_id=None, snapshot=snapshot)
    harness.tx.outbox.add(event, harness.clock())


def test_projects_and_agents_come_by_id_those_set_aside_too_whatever_the_page(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts_module, "_AT_ONCE", 2)
    projects = [harness.add_project(f"/code/{name}") for name in ("app", "lib", "old")]
    blue = harness.add_agent(projects[0], "BlueLake")
    harness.tx.projects.set_archived(projects[2].id, harness.clock())
    harness.tx.agents.set_retired(blue.id, harness.clock(), harness.clock())

    with open_artifacts(harness.database) as artifacts:
        found = [project.id for project in artifacts.projects()]
        agents = [agent.id for agent in artifacts.agents()]

        assert found == [project.id for project in projects]
        assert agents == sorted(agents)
        assert blue.id in agents
        assert artifacts.counts() == (0, len(agents)) == (0, 7)
        assert artifacts.store_id == harness.store_id


def test_one_view_is_of_one_instant(harness: ArchiveHarness) -> None:
    with open_artifacts(harness.database) as artifacts:
        before = artifacts.counts()
        harness.add_project("/code/app")

        assert artifacts.counts() == before == (0, 0)
        assert list(artifacts.projects()) == []


def test_each_message_says_which_archives_do_not_have_it_yet(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts_module, "_AT_ONCE", 2)
    app, lib = harness.add_project("/code/app"), harness.add_project("/code/lib")
    blue, fox = harness.add_agent(app, "BlueLake"), harness.add_agent(lib, "QuietFox")
    done = [harness.send(blue, [fox]) for _ in range(4)]
    mark(harness, app)
    pending = [harness.send(blue, [fox]) for _ in range(3)]

    with open_artifacts(harness.database) as artifacts:
        found = list(artifacts.messages())

    assert [message.id for message, _, _ in found] == [message.id for message in (*done, *pending)]
    assert [missing for _, _, missing in found] == [{lib.id}] * 4 + [{app.id, lib.id}] * 3
    assert [one.name for one in found[0][1]] == ["QuietFox"]


def test_files_that_are_about_to_be_written_are_told_by_kind(harness: ArchiveHarness) -> None:
    app, lib = harness.add_project("/code/app"), harness.add_project("/code/lib")
    mark(harness, app)
    mark(harness, lib)
    blue = harness.add_agent(app, "BlueLake")
    for project in (app, lib):
        add_event(harness, project, EventKind.CONTACT, id=5)
    add_event(harness, lib, EventKind.PRODUCT, id=6)
    add_event(harness, lib, EventKind.PROJECT, id=lib.id)

    with open_artifacts(harness.database) as artifacts:
        assert artifacts.pending_profiles() == {blue.id}
        assert artifacts.pending_projects() == {lib.id}
        assert artifacts.pending_contacts() == {(app.id, 5), (lib.id, 5)}
        assert artifacts.pending_products() == {(lib.id, 6)}


def test_pending_leases_are_told_with_the_ends_that_were_taken_back(harness: ArchiveHarness) -> None:
    app = harness.add_project("/code/app")
    blue = harness.add_agent(app, "BlueLake")
    ended, anew = [grant(harness, blue, LeaseKind.SLOT) for _ in range(2)]
    end_leases(harness.tx, [ended], EndedBy.RELEASE)
    lapsed_ts = harness.clock()
    for lapsed in (None, lapsed_ts):
        record_event(harness.tx, anew, app, acting=blue, lapsed_ts=lapsed)

    with open_artifacts(harness.database) as artifacts:
        assert artifacts.pending_leases(KIND_OF_EVENT[LeaseKind.SLOT]) == {ended.id: set(), anew.id: {lapsed_ts}}
        assert artifacts.pending_leases(KIND_OF_EVENT[LeaseKind.FILE]) == {}
        assert [lease.id for lease in artifacts.leases(app, LeaseKind.SLOT)] == [ended.id, anew.id]
        assert list(artifacts.leases(app, LeaseKind.FILE)) == []


def test_receipts_in_git_come_in_their_order_with_the_batch_that_holds_them(harness: ArchiveHarness) -> None:
    app = harness.add_project("/code/app")
    blue, red = harness.add_agent(app, "BlueLake"), harness.add_agent(app, "RedStone")
    openly, blindly = harness.send(blue, [red]), harness.send(blue, [], bcc=[red])
    harness.read(app, red, openly)
    first = mark(harness, app)
    harness.clock.step(1)
    harness.read(app, red, blindly)
    second = mark(harness, app, "b" * 40)
    harness.read(app, blue, openly)

    with open_artifacts(harness.database) as artifacts:
        found = list(artifacts.receipts())

    assert [(one.receipt.message_id, one.receipt.is_blind, one.last_seq) for one in found] == [
        (openly.id, False, first.last_seq),
        (blindly.id, True, second.last_seq),
    ]
    assert [(one.project_id, one.receipt.agent, one.receipt.step) for one in found] == [
        (app.id, "RedStone", ReceiptStep.READ)
    ] * 2
    assert found[1].receipt.at == found[1].created_ts == harness.clock()


def test_a_receipt_whose_recipient_is_lost_has_the_time_0(harness: ArchiveHarness) -> None:
    app = harness.add_project("/code/app")
    blue, red = harness.add_agent(app, "BlueLake"), harness.add_agent(app, "RedStone")
    harness.read(app, red, harness.send(blue, [red]))
    mark(harness, app)
    harness.connection.execute("DELETE FROM recipients")

    with open_artifacts(harness.database) as artifacts:
        (found,) = artifacts.receipts()

    assert found.receipt.at == 0


def test_links_products_and_all_aliases_are_read_too(harness: ArchiveHarness) -> None:
    app = harness.add_project("/code/app")
    blue, red = harness.add_agent(app, "BlueLake"), harness.add_agent(app, "RedStone")
    now = harness.clock()
    tx = harness.tx
    contact = tx.contacts.put(blue.id, red.id, status=LinkStatus.PENDING, reason="", expires_ts=None, now=now)
    product = tx.products.add(uid="ab" * 16, name="shop", now=now)
    tx.products.link(product, app.id, now)
    tx.aliases.add(app.id, "uid:1", AliasKind.TIE, now)
    tx.aliases.add(app.id, "/code/elsewhere", AliasKind.PATH, now)

    with open_artifacts(harness.database) as artifacts:
        assert list(artifacts.contacts()) == [contact]
        assert [(link.product, link.project_id) for link in artifacts.product_links()] == [(product, app.id)]
        assert [alias.name for alias in artifacts.aliases(app)] == ["/code/elsewhere", "uid:1"]


@pytest.mark.parametrize("version", [None, 9999])
def test_a_strangers_view_is_refused_before_it_runs(version: int | None, harness: ArchiveHarness) -> None:
    put_view(harness.database, "meta")
    if version is not None:
        change(harness.database, f"PRAGMA user_version = {version}")

    with pytest.raises(ForeignParts if version is None else NewerStore), open_artifacts(harness.database):
        pass
    with pytest.raises(ForeignParts, match="meta differs"):
        read_store_id(harness.database)


def test_whose_a_store_is_can_be_told_beside_parts_of_a_stranger(harness: ArchiveHarness) -> None:
    put_view(harness.database, "projects")

    assert read_store_id(harness.database) == harness.store_id
