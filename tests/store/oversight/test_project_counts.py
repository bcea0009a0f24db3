from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.store.oversight import project_counts
from tests.seeded_store import open_seeded_store
from tests.store.grants import TTL_S, grant


async def test_mail_is_counted_no_further_than_one_more_than_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        for _ in range(4):
            seeded.clock.step()
            await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

        counted = await seeded.store.read(lambda view: view.project_counts.mail(seeded.app.id))
        monkeypatch.setattr(project_counts, "MOST_COUNTED", 2)
        bounded = await seeded.store.read(lambda view: view.project_counts.mail(seeded.app.id))
        newest = await seeded.store.read(
            lambda view: [view.project_counts.newest_mail_ts(one.id) for one in (seeded.app, seeded.lib)]
        )

        assert (counted, bounded) == (4, 3)
        assert newest == [seeded.clock.now, None]


async def test_leases_are_counted_while_they_live(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        await grant(seeded, seeded.blue, "a.py", "b.py")
        await grant(seeded, seeded.red, "c.py", ttl_s=TTL_S * 3)
        await grant(seeded, seeded.fox, "d.py")

        async def count(kind: LeaseKind = LeaseKind.FILE) -> int:
            return await seeded.store.read(lambda view: view.project_counts.live_leases(seeded.app.id, kind, view.now))

        assert (await count(), await count(LeaseKind.SLOT)) == (3, 0)
        seeded.clock.step(TTL_S)
        assert await count() == 1


async def test_projects_are_counted_no_further_than_one_more_than_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        counted = await seeded.store.read(lambda view: view.project_counts.projects())
        monkeypatch.setattr(project_counts, "MOST_COUNTED", 0)
        bounded = await seeded.store.read(lambda view: view.project_counts.projects())
        await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.lib.id, tx.now))
        monkeypatch.undo()
        without = await seeded.store.read(lambda view: view.project_counts.projects())

        assert (counted, bounded, without) == (2, 1, 1)
