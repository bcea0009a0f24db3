from __future__ import annotations

from tests.features.recovery.harness import World, set_back


def test_an_archive_that_is_behind_is_told_what_the_sender_s_knows(world: World) -> None:
    set_back(world.archive(world.app), 1)

    made = world.rebuild()

    assert made.events == 1
    assert world.rows("SELECT project_id, kind, message_id FROM outbox WHERE commit_id IS NULL") == [(1, "mail", 2)]
    # No receipt is left: they were in the commit that is gone.
    assert world.rows("SELECT delivery_seq, read_ts FROM recipients WHERE message_id = 2 ORDER BY position") == [
        (2, None),
        (3, None),
    ]
    assert world.verify().is_clean


def test_a_sender_s_archive_that_is_behind_is_told_what_others_got(world: World) -> None:
    set_back(world.archive(world.lib), 1)

    made = world.rebuild()

    assert made.events == 1
    assert world.rows("SELECT project_id, kind, message_id FROM outbox WHERE commit_id IS NULL") == [(2, "mail", 2)]
    found = world.rows("SELECT agent_id, kind, delivery_seq FROM recipients WHERE message_id = 2 ORDER BY position")
    # Of the blind copy nobody but the sender's archive knows the number.
    assert found == [(5, "to", 2), (6, "bcc", 100_002)]
    assert world.verify().is_clean


def test_mail_of_which_both_archives_know_nothing_is_gone(world: World) -> None:
    for slug in (world.app, world.lib):
        set_back(world.archive(slug), 1)

    made = world.rebuild()

    assert (made.messages, made.events) == (1, 0)
