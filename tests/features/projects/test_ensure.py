"""A directory becomes a project once, with what belongs into every project."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.project_identity import Identity, IdentityMode, IdentitySource, WorkspaceFacts, slug_alias
from mcp_agent_mail.domain.projects import AliasKind, Project, slugs_of
from mcp_agent_mail.features.projects.ensure import ProjectRequest, ensure, record_event
from mcp_agent_mail.features.projects.lookup import find_known_path, find_tied
from mcp_agent_mail.store.database import Store
from tests.features.identity.harness import PROJECT, open_identity
from tests.seeded_store import SetClock, add_agent, add_project


async def test_a_new_project_has_human_and_system_and_its_first_archive_events(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        await harness.call("ensure_project", human_key=PROJECT)

        residents = await harness.rows("SELECT name, kind, token_hash FROM agents ORDER BY id")
        events = await harness.rows("SELECT kind, snapshot FROM outbox ORDER BY seq")

    assert residents == [("Human", "human", None), ("System", "system", None)]
    assert [kind for kind, _ in events] == ["project", "profile", "profile"]
    assert json.loads(events[0][1])["human_key"] == PROJECT


def request(path: str, *, tie: str | None = None, written: str | None = None) -> ProjectRequest:
    identity = Identity(mode_used=IdentityMode.DIR, source=IdentitySource.DIRECTORY, canonical_path=path, tie=tie)
    return ProjectRequest(written=written or path, facts=WorkspaceFacts(path=path), identity=identity)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store(tmp_path / "mail.sqlite3", clock=SetClock()) as opened:
        yield opened


async def made(store: Store, project_request: ProjectRequest) -> Project:
    return await store.write(lambda tx: ensure(tx, project_request))


async def events(store: Store) -> list[tuple[int, int | None, list[str]]]:
    """Of projects: of which, by whom, with which further names."""
    sql = "SELECT project_id, agent_id, snapshot FROM outbox WHERE kind = 'project' ORDER BY seq"
    rows = await store.read(lambda view: view.meta._connection.execute(sql).fetchall())
    return [
        (project, agent, [one["alias"] for one in json.loads(text).get("aliases", [])]) for project, agent, text in rows
    ]


async def test_ensuring_again_gives_the_same_and_writes_nothing(store: Store) -> None:
    first = await made(store, request("/code/app"))
    before = await events(store)

    again = await made(store, request("/real/app", written="/code/app"))

    assert again == first
    assert await events(store) == before


async def test_the_first_directory_of_an_identity_is_tied_and_the_archive_is_told(store: Store) -> None:
    project = await made(store, request("/code/app", tie="uid:shared-1"))

    assert await events(store) == [(project.id, None, []), (project.id, None, ["uid:shared-1"])]


async def test_a_further_directory_of_an_identity_is_known_from_then_on_and_no_archive_is_told(store: Store) -> None:
    first = await made(store, request("/code/app", tie="uid:shared-1"))
    before = await events(store)

    joined = await made(store, request("/code/clone", tie="uid:shared-1"))

    assert joined == first
    assert await store.read(lambda view: find_known_path(view, "/code/clone")) == first
    assert await events(store) == before


async def test_a_project_of_its_own_stays_one_when_its_identity_is_anothers(store: Store) -> None:
    own = await made(store, request("/code/clone"))
    first = await made(store, request("/code/app", tie="uid:shared-1"))

    still = await made(store, request("/code/clone", tie="uid:shared-1"))

    assert still == own
    assert await store.read(lambda view: find_tied(view, "uid:shared-1")) == first


async def test_a_slug_that_is_or_was_anothers_is_not_given_again(store: Store) -> None:
    shortest, longer, longest = slugs_of("/code/new")[:3]
    holder = await store.write(lambda tx: add_project(tx, f"/{shortest}"))
    await store.write(lambda tx: tx.aliases.add(holder.id, slug_alias(longer), AliasKind.FORMER, tx.now))

    project = await made(store, request("/code/new"))

    assert (holder.slug, project.slug) == (shortest, longest)


async def test_there_is_something_to_write_until_the_directory_and_its_tie_are_known(store: Store) -> None:
    project_request = request("/code/app", tie="uid:shared-1")
    before = await store.read(project_request.settled)
    project = await made(store, request("/code/app"))
    untied = await store.read(project_request.settled)
    plain = await store.read(request("/code/app").settled)
    await made(store, project_request)

    assert (before, untied, plain) == (None, None, project)
    assert await store.read(project_request.settled) == project


async def test_an_event_names_who_changed_the_project_only_where_that_agent_lives_in_it(store: Store) -> None:
    own, other = await made(store, request("/code/app")), await made(store, request("/code/lib"))
    agent = await store.write(lambda tx: add_agent(tx, own, "BlueLake"))
    caller = Caller(
        kind=CallerKind.AGENT, auth=AgentAuth.OPEN, agent_id=agent.id, agent_name=agent.name, project_id=own.id
    )

    await store.write(lambda tx: record_event(tx, own, caller))
    await store.write(lambda tx: record_event(tx, other, caller))

    assert [(project, by) for project, by, _ in (await events(store))[2:]] == [(own.id, agent.id), (other.id, None)]
