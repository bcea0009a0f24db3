from __future__ import annotations

import pytest

from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from tests.features.recovery.harness import World, change, drop, paths_of, text_of


@pytest.mark.parametrize("pattern", [r"receipts/.*", r"agents/RedStone/receipts/.*"])
def test_without_receipts_mail_is_unread(world: World, pattern: str) -> None:
    drop(world.archive(world.app), pattern)

    world.rebuild()

    assert world.dump() != world.dump(world.database)
    assert world.rows("SELECT unread_count FROM agents WHERE name = 'RedStone'") == [(1,)]


def test_receipts_keep_the_number_that_names_their_file(world: World) -> None:
    world.rebuild()

    sql = "SELECT seq, message_id, is_blind FROM outbox WHERE kind = 'receipt' ORDER BY seq"
    assert world.rows(sql) == world.rows(sql, world.database)


def test_a_receipt_for_mail_that_nobody_got_is_refused(world: World) -> None:
    archive = world.archive(world.app)
    (path,) = paths_of(archive, r"receipts/.*")
    change(archive, {path: text_of(archive, path).replace(f'"message_id": {world.plain}', '"message_id": 99')})

    with pytest.raises(RebuildRefused, match="message 99, which RedStone never got"):
        world.rebuild()


def test_receipts_that_no_commit_of_ours_has_brought_are_refused(world: World) -> None:
    archive = world.archive(world.app)
    (path,) = paths_of(archive, r"receipts/.*")
    change(archive, {"receipts/2027/01/15/77777.jsonl": text_of(archive, path)})

    with pytest.raises(RebuildRefused, match="no commit of the archiver has brought"):
        world.rebuild()
