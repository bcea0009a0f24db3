from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.store.adoption import AGENT_COLUMNS, PROJECT_COLUMNS
from mcp_agent_mail.store.transaction import Tx, View
from tests.seeded_store import SeededStore, open_seeded_store


def _references(view: View, table: str) -> set[tuple[str, str]]:
    connection = view.adoption._connection
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' LIMIT 1000")]
    return {
        (name, str(column))
        for name in tables
        for _, _, referred, column, *_ in connection.execute(f"PRAGMA foreign_key_list({name})")
        if referred == table
    }


def _named(view: View, *columns: str) -> set[tuple[str, str]]:
    connection = view.adoption._connection
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' LIMIT 1000")]
    return {
        (name, column)
        for name in tables
        for _, column, *_ in connection.execute(f"PRAGMA table_info({name})")
        if column in columns
    }


async def test_an_adoption_decides_about_every_column_that_names_a_project_or_an_agent(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        projects = await seeded.store.read(lambda view: _references(view, "projects") | _named(view, "project_id"))
        agents = await seeded.store.read(
            lambda view: _references(view, "agents") | _named(view, "agent_id", "sender_id")
        )

    assert projects == set(PROJECT_COLUMNS), "say in store/adoption.py what becomes of these rows"
    assert agents == set(AGENT_COLUMNS), "say in store/adoption.py what becomes of these rows"


async def join(seeded: SeededStore) -> None:
    """`app` into `lib`, once none of their agents has the other's name."""

    def unit(tx: View) -> None:
        tx.adoption._connection.execute("UPDATE agents SET name_key = 'other' WHERE id = ?", (seeded.lib_blue.id,))
        tx.aliases.retire(seeded.app.id)
        tx.adoption.move(seeded.app.id, seeded.lib.id)

    await seeded.store.write(unit)


async def post(seeded: SeededStore, thread_id: str | None = None) -> int:
    """From `lib` to an agent and to `Human` of both projects."""
    humans = await seeded.store.read(
        lambda view: [view.agents.find_by_name(project.id, "Human") for project in (seeded.app, seeded.lib)]
    )
    people = [human for human in humans if human is not None]
    to = [*seeded.addressed([seeded.red, *people[:1]]), *seeded.addressed(people[1:], RecipientKind.CC)]
    message, _ = await seeded.post(seeded.letter(seeded.fox, thread_id=thread_id, body="zebra"), *to)
    return message.id


async def test_one_copy_of_what_both_humans_got_stays_and_it_counts_as_unread_once(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        message_id = await post(seeded)

        await join(seeded)

        def look(view: View) -> list[tuple[object, ...]]:
            sql = """
                SELECT a.name, a.unread_count, a.inbox_count FROM recipients r JOIN agents a ON a.id = r.agent_id
                WHERE r.message_id = ? LIMIT 10
            """
            return sorted(view.adoption._connection.execute(sql, (message_id,)).fetchall())

        assert await seeded.store.read(look) == [("Human", 1, 1), ("RedStone", 1, 1)]
        broken = await seeded.store.read(
            lambda view: view.adoption._connection.execute("PRAGMA foreign_key_check").fetchall()
        )
        scope = await seeded.store.read(
            lambda view: view.adoption._connection.execute("SELECT scope FROM messages LIMIT 2").fetchall()
        )
        assert broken == []
        assert scope == [(f"p{seeded.lib.id}",)]


async def test_names_clash_ignoring_case_and_threads_unless_a_message_is_mail_of_both(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        await post(seeded, thread_id="shared")
        await seeded.post(seeded.letter(seeded.blue, thread_id="parser"), *seeded.addressed([seeded.red]))
        await seeded.post(seeded.letter(seeded.fox, thread_id="parser"), *seeded.addressed([seeded.lib_blue]))

        plan = await seeded.store.read(lambda view: view.adoption.plan(seeded.app.id, seeded.lib.id, Micros(0)))

    assert plan.clashing_names == ("BlueLake",)
    assert plan.clashing_threads == ("parser",)
    assert (plan.agents, plan.messages, plan.neighbours) == (3, 2, ())


async def test_names_that_doors_know_clash_with_each_other_and_with_agents(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:

        def name(tx: Tx) -> None:
            for project, agent, names in (
                (seeded.app, seeded.red, ("Bob", "quietfox", "only-app")),
                (seeded.lib, seeded.fox, ("bob", "GREENFIELD", "only-lib")),
            ):
                for one in names:
                    tx.wire_names.add(project.id, agent.id, one, tx.now)

        await seeded.store.write(name)

        plan = await seeded.store.read(lambda view: view.adoption.plan(seeded.app.id, seeded.lib.id, Micros(0)))

    assert plan.clashing_names == ("BlueLake", "Bob", "GreenField", "quietfox")


async def test_names_that_doors_know_come_along(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        known = await seeded.store.write(lambda tx: tx.wire_names.add(seeded.app.id, seeded.red.id, "bob", tx.now))

        await join(seeded)

        found = await seeded.store.read(lambda view: view.wire_names.find(seeded.lib.id, "bob"))

    assert found == replace(known, project_id=seeded.lib.id)


@pytest.mark.parametrize("kind", ["tie", "former"])
async def test_names_of_an_adopted_project_lead_on_but_are_not_the_other_ones_own(kind: str, tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        sql = "INSERT INTO project_aliases (alias, project_id, kind, created_ts) VALUES ('uid:their-uid-1', ?, ?, 1)"
        await seeded.store.write(lambda tx: tx.adoption._connection.execute(sql, (seeded.app.id, kind)).rowcount)

        await join(seeded)

        assert await seeded.store.read(lambda view: view.aliases.find("uid:their-uid-1")) == seeded.lib.id
        assert await seeded.store.read(lambda view: view.aliases.uid(seeded.lib.id)) is None
