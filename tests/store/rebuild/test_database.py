from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, OutboxSeq, ProjectId
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedAgent, ArchivedAlias
from mcp_agent_mail.domain.doors.names import Door, WireName
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.domain.projects import AliasKind, Project
from mcp_agent_mail.store.checks.integrity import find_faults
from mcp_agent_mail.store.rebuild.database import RebuiltDatabase, RowsContradict
from tests.faults.disks import small_disk

PROJECT = Project(id=ProjectId(3), slug="app", human_key="/code/app", created_ts=Micros(5), archived_ts=None)


def agent(project_id: int = 3) -> ArchivedAgent:
    return ArchivedAgent(
        id=8,
        project_id=ProjectId(project_id),
        kind=AgentKind.AGENT,
        name="BlueLake",
        program="p",
        model="m",
        task_description="",
        inception_ts=Micros(1),
        profiled_ts=Micros(2),
        retired_ts=None,
        contact_policy=ContactPolicy.AUTO,
        attachments_policy=AttachmentsPolicy.AUTO,
    )


@pytest.fixture
def database(tmp_path: Path) -> Iterator[RebuiltDatabase]:
    with RebuiltDatabase(tmp_path / "new", "the-store") as database:
        yield database


def test_what_was_begun_and_not_finished_is_gone(tmp_path: Path) -> None:
    with RebuiltDatabase(tmp_path / "new", "the-store") as database:
        database.add_project(PROJECT, ())

    assert list(tmp_path.iterdir()) == []


def test_a_finished_one_is_a_sound_store_for_its_owner_alone(tmp_path: Path) -> None:
    with RebuiltDatabase(tmp_path / "new", "the-store") as database:
        database.add_project(PROJECT, ())
        tx = database.settle()
        assert tx.meta.store_id() == "the-store"
        database.finish()

    assert find_faults(tmp_path / "new") == []
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


def test_it_is_made_only_where_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("mine")

    with pytest.raises(FileExistsError), RebuiltDatabase(tmp_path / "new", "the-store"):
        pass

    assert (tmp_path / "new").read_text() == "mine"


def test_two_things_of_one_id_contradict_each_other(database: RebuiltDatabase) -> None:
    database.add_project(PROJECT, ())
    database.add_agent(agent())

    with pytest.raises(RowsContradict):
        database.add_agent(agent())


def test_a_row_that_refers_to_nothing_is_no_store(database: RebuiltDatabase) -> None:
    database.add_agent(agent(project_id=9))
    database.settle()

    with pytest.raises(RowsContradict, match="row 8 of agents refers to a row of projects"):
        database.finish()


def test_an_alias_of_which_nobody_wrote_since_when_is_told_again(database: RebuiltDatabase) -> None:
    database.add_project(PROJECT, [ArchivedAlias(name="/old", kind=AliasKind.FORMER, created_ts=None)])
    tx = database.settle()

    assert [alias.created_ts for alias in tx.aliases.archived(PROJECT.id)] == [5]
    assert tx.backfill.stale_projects(5) == [3]


def test_new_numbers_are_far_above_the_last_of_any_commit(database: RebuiltDatabase) -> None:
    database.add_project(PROJECT, ())
    commit = ArchiveCommit(
        project_id=PROJECT.id, hexsha="a" * 40, summary="s", authored_ts=Micros(1), last_seq=OutboxSeq(777)
    )
    database.add_commit(commit)

    assert database.settle().outbox.highest_seq() == 100_777


def test_what_could_not_even_be_begun_leaves_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=64) as disk:
        with (
            pytest.raises(sqlite3.Error, match="full"),
            RebuiltDatabase(disk / "mail.sqlite3", "store"),
        ):
            pass

        assert list(disk.iterdir()) == []


def alias(number: int, name: str, owner: Door | None = None) -> WireName:
    return WireName(
        id=number,
        project_id=PROJECT.id,
        agent_id=AgentId(8),
        name=name,
        owner=owner,
        linked=frozenset({Door.AGENTMAIL}),
        created_ts=Micros(7),
    )


def test_names_at_doors_come_back_with_their_numbers_owners_and_links(database: RebuiltDatabase) -> None:
    names = (alias(5, "Blue", Door.POSTAL), alias(9, "名前"))
    database.add_project(PROJECT, ())
    database.add_agent(replace(agent(), aliases=names))
    tx = database.settle()

    assert tx.wire_names.of_agent(AgentId(8)) == list(names)
    assert tx.wire_names.find(PROJECT.id, "BLUE") == names[0]
    assert tx.agents.has_token(AgentId(8))


def test_a_mailbox_that_nobody_had_waits_for_the_first_who_speaks_as_it(database: RebuiltDatabase) -> None:
    database.add_project(PROJECT, ())
    database.add_agent(replace(agent(), aliases=(alias(5, "Blue"),), is_unclaimed=True))

    assert not database.settle().agents.has_token(AgentId(8))


def test_one_name_of_two_agents_contradicts_itself(database: RebuiltDatabase) -> None:
    database.add_project(PROJECT, ())
    database.add_agent(replace(agent(), aliases=(alias(5, "Blue"),)))
    other = replace(agent(), id=12, name="RedStone", aliases=(replace(alias(6, "BLUE"), agent_id=AgentId(12)),))

    with pytest.raises(RowsContradict, match="RedStone"):
        database.add_agent(other)
