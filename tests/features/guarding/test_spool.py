from __future__ import annotations

import json
from pathlib import Path

from mcp_agent_mail.features.guarding.spool import MAX_EVENT_BYTES, SPOOL_FOLDER, SpoolDrain
from mcp_agent_mail.guard import spool as guards_spool
from tests.features.guarding.harness import OPERATOR, SOMEONE, open_guarding


def test_the_guard_leaves_events_where_they_are_looked_for_and_none_that_are_too_long() -> None:
    """Its process loads nothing of the server's, so both have the constants."""
    assert (guards_spool.SPOOL_FOLDER, guards_spool.MAX_EVENT_BYTES) == (SPOOL_FOLDER, MAX_EVENT_BYTES)


async def test_the_spool_is_brought_in_once_and_what_is_no_event_goes(tmp_path: Path) -> None:
    async with open_guarding(tmp_path) as post:
        spool = tmp_path / "guard-spool"
        spool.mkdir()
        for number in range(150):
            (spool / f"{number}.json").write_text(json.dumps(post.event(number)))
        (spool / "broken.json").write_text("{")
        (spool / "large.json").write_text(json.dumps({"x": "y" * 20_000}))
        (spool / ".half").write_text("{")
        drain = SpoolDrain(post.service, tmp_path, clock=post.seeded.clock)
        await post.service.record(SOMEONE, [post.event(7)])

        stored = await drain.drain()

        assert stored == 149, "one had been told already"
        assert [file.name for file in spool.iterdir()] == [".half"]
        assert await drain.drain() == 0


async def test_the_drain_starts_at_once_and_ends_when_told(tmp_path: Path) -> None:
    async with open_guarding(tmp_path) as post:
        (tmp_path / "guard-spool").mkdir()
        (tmp_path / "guard-spool" / "1.json").write_text(json.dumps(post.event(1)))
        drain = SpoolDrain(post.service, tmp_path, clock=post.seeded.clock)

        drain.start()
        while list((tmp_path / "guard-spool").iterdir()):
            await post.seeded.store.write(lambda tx: tx.now)
        await drain.close()
        await drain.close()

        assert len(await post.service.list_(OPERATOR, None, 5)) == 1


async def test_what_takes_the_name_of_an_event_and_is_no_file_holds_nobody_up(tmp_path: Path) -> None:
    async with open_guarding(tmp_path) as post:
        spool = tmp_path / "guard-spool"
        (spool / "folder.json").mkdir(parents=True)
        (spool / "link.json").symlink_to(tmp_path / "mail.sqlite3")
        (spool / "told.json").write_text(json.dumps(post.event(1)))
        drain = SpoolDrain(post.service, tmp_path, clock=post.seeded.clock)

        assert await drain.drain() == 1

        assert (tmp_path / "mail.sqlite3").exists()
        assert not (spool / "told.json").exists()


async def test_without_a_spool_there_is_nothing_to_bring_in(tmp_path: Path) -> None:
    async with open_guarding(tmp_path) as post:
        drain = SpoolDrain(post.service, tmp_path, clock=post.seeded.clock)

        assert await drain.drain() == 0
