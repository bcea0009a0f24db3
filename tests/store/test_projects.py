"""Projects at rest, over the real store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx


def add(tx: Tx, key: str, plain: str = "plain") -> Project:
    return tx.projects.add(slug=key.strip("/"), human_key=key, plain_slug=plain, now=Micros(5))


async def test_a_project_is_found_by_each_of_its_keys(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        one = await store.write(lambda tx: add(tx, "/one", "shared"))
        two = await store.write(lambda tx: add(tx, "/two", "shared"))

        assert await store.read(lambda view: view.projects.find(one.id)) == one
        assert await store.read(lambda view: view.projects.find_by_slug("two")) == two
        assert await store.read(lambda view: view.projects.find_by_human_key("/two")) == two
        assert await store.read(lambda view: view.projects.find_by_plain_slug("shared")) == [one, two]
        assert await store.read(lambda view: view.projects.find_by_slug("three")) is None


async def test_the_store_itself_refuses_a_second_project_of_a_path(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        await store.write(lambda tx: add(tx, "/one"))

        with pytest.raises(sqlite3.IntegrityError):
            await store.write(lambda tx: add(tx, "/one"))


async def test_projects_are_listed_oldest_first_page_by_page_without_archived_ones(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        made = await store.write(lambda tx: [add(tx, key) for key in ("/a", "/b", "/c", "/d")])
        archived = await store.write(lambda tx: tx.projects.set_archived(made[1].id, Micros(9)))

        page = await store.read(lambda view: view.projects.list_(limit=2))
        rest = await store.read(lambda view: view.projects.list_(limit=2, after_id=page[-1].id))
        everything = await store.read(lambda view: view.projects.list_(include_archived=True, limit=10))

        assert (page, rest) == ([made[0], made[2]], [made[3]])
        assert everything == [made[0], archived, made[2], made[3]]
        assert await store.read(lambda view: view.projects.newest(2)) == [made[3], made[2]]
        assert archived.archived_ts == 9
