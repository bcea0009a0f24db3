from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.projects import ProjectPair, pair_of
from mcp_agent_mail.store.oversight import siblings
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def add(seeded: SeededStore, path: str) -> ProjectId:
    added = await seeded.store.write(
        lambda tx: tx.projects.add(slug=path[1:], human_key=path, plain_slug=path[1:], now=tx.now)
    )
    return added.id


async def dismiss(seeded: SeededStore, pair: ProjectPair) -> None:
    await seeded.store.write(lambda tx: tx.siblings.dismiss(pair, tx.now))


async def test_dismissed_pairs_are_kept_once(seeded: SeededStore) -> None:
    one, two, three = [await add(seeded, f"/{name}") for name in ("one", "two", "three")]
    for pair in (pair_of(two, one), pair_of(one, two), pair_of(two, three)):
        await dismiss(seeded, pair)

    assert await seeded.store.read(lambda view: view.siblings.dismissed()) == {(one, two), (two, three)}


async def test_beyond_so_many_the_first_is_forgotten(seeded: SeededStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(siblings, "MOST_DISMISSED", 1)
    one, two, three = [await add(seeded, f"/{name}") for name in ("one", "two", "three")]
    await dismiss(seeded, (one, two))
    seeded.clock.step()

    await dismiss(seeded, (two, three))

    assert await seeded.store.read(lambda view: view.siblings.dismissed()) == {(two, three)}


async def test_the_products_of_projects(seeded: SeededStore) -> None:
    one, two = [await add(seeded, f"/{name}") for name in ("one", "two")]
    product = await seeded.store.write(lambda tx: tx.products.add(uid="a" * 20, name="Shop", now=tx.now))
    await seeded.store.write(lambda tx: tx.products.link(product, two, tx.now))

    assert await seeded.store.read(lambda view: view.siblings.products([one, two])) == [(product.id, two)]
    assert await seeded.store.read(lambda view: view.siblings.products([one])) == []


async def test_a_project_that_becomes_part_of_another_keeps_no_pair_of_itself(seeded: SeededStore) -> None:
    one, two, three = [await add(seeded, f"/{name}") for name in ("one", "two", "three")]
    for pair in ((one, two), (one, three), (two, three)):
        await dismiss(seeded, pair)

    await seeded.store.write(lambda tx: tx.adoption.move(three, one))

    assert await seeded.store.read(lambda view: view.siblings.dismissed()) == {(one, two)}
