"""Old mail that everyone has read leaves a tombstone, and nothing else goes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from mcp_agent_mail.core.errors import NotFound, PermissionDenied
from mcp_agent_mail.domain.attachments import StoredContent
from mcp_agent_mail.domain.messages import NewRecipient, RecipientKind
from mcp_agent_mail.features.retention import service
from mcp_agent_mail.features.retention.service import PurgeRequest
from mcp_agent_mail.store.checks.integrity import find_faults
from tests.features.retention.harness import ANYBODY, DAY_S, DAYS, Attic
from tests.stored_contents import attached, content_path, keep_content


async def test_a_tombstone_keeps_everything_but_the_text(attic: Attic) -> None:
    message = await attic.old(attic.seeded.red, attic.seeded.fox)

    purge = await attic.purge()

    left = await attic.found(message.id)
    assert purge.messages_affected == 1
    assert left.body_md == "*Purged on 2027-02-14: old, and read by all. The Git history of the archive has the text.*"
    assert left.purged_ts == attic.seeded.clock.now
    assert (left.subject, left.sender_name, left.created_ts) == (message.subject, "BlueLake", message.created_ts)
    assert attic.searched() == []
    assert find_faults(attic.path) == []


async def test_a_dry_run_counts_and_changes_nothing(attic: Attic) -> None:
    message = await attic.old(attic.seeded.red)

    purge = await attic.purge(dry_run=True)

    assert (purge.dry_run, purge.messages_affected, purge.max_age_days) == (True, 1, DAYS)
    assert purge.cutoff == message.created_ts
    assert (await attic.found(message.id)).body_md == "the secret plan"
    assert attic.searched() == [message.id]


async def test_a_repeat_finds_nothing_left(attic: Attic) -> None:
    await attic.old(attic.seeded.red)
    await attic.purge()

    assert (await attic.purge()).messages_affected == 0


async def test_threads_and_answers_go_on_and_no_id_comes_again(attic: Attic) -> None:
    old = await attic.old(attic.seeded.red, thread_id="plans")
    await attic.purge()

    answer = await attic.send(attic.seeded.red, thread_id="plans")

    thread = await attic.seeded.store.read(
        lambda view: view.thread_messages.list_(attic.seeded.app.id, "plans", limit=10)
    )
    assert [head.id for head in thread] == [old.id, answer.id]
    assert answer.id > old.id


async def _leave_unread(attic: Attic) -> None:
    message = await attic.send(attic.seeded.red, attic.seeded.green)
    await attic.read(attic.seeded.red, message)


async def _leave_unacknowledged(attic: Attic) -> None:
    message = await attic.send(attic.seeded.red, ack_required=True)
    await attic.read(attic.seeded.red, message)


def _held(attic: Attic) -> NewRecipient:
    seeded = attic.seeded
    return NewRecipient(agent=seeded.green, project=seeded.app, kind=RecipientKind.TO, held_code="CONTACT_REQUIRED")


async def _leave_held(attic: Attic) -> None:
    message = await attic.send(attic.seeded.red, _held(attic))
    await attic.read(attic.seeded.red, message)


async def _refuse(attic: Attic) -> None:
    """Delivered to nobody: nobody has read it."""
    await attic.send(_held(attic))
    await attic.seeded.store.write(lambda tx: tx.held.refuse(attic.seeded.blue.id, attic.seeded.green.id, tx.now))


@pytest.mark.parametrize("leave", [_leave_unread, _leave_unacknowledged, _leave_held, _refuse])
async def test_what_somebody_has_yet_to_do_something_with_stays(attic: Attic, leave: Callable[[Attic], object]) -> None:
    await leave(attic)  # type: ignore[misc]
    await attic.commit()
    attic.seeded.clock.step(DAYS * DAY_S)

    purge = await attic.purge()

    assert purge.messages_affected == 0
    assert len(attic.searched()) == 1


async def test_a_copy_that_went_back_keeps_nothing_that_the_others_have_read(attic: Attic) -> None:
    await _leave_held(attic)
    await attic.seeded.store.write(lambda tx: tx.held.refuse(attic.seeded.blue.id, attic.seeded.green.id, tx.now))
    await attic.commit()
    attic.seeded.clock.step(DAYS * DAY_S)

    assert (await attic.purge()).messages_affected == 1


async def test_mail_that_is_not_old_enough_stays(attic: Attic) -> None:
    await attic.old(attic.seeded.red)
    attic.seeded.clock.step(-1)

    assert (await attic.purge()).messages_affected == 0


async def test_what_was_approved_lately_is_not_old(attic: Attic) -> None:
    message = await attic.send(_held(attic))
    attic.seeded.clock.step(DAYS * DAY_S)
    await attic.seeded.store.write(lambda tx: tx.held.deliver(attic.seeded.blue.id, attic.seeded.green.id, tx.now))
    await attic.read(attic.seeded.green, message)
    await attic.commit()

    assert (await attic.purge()).messages_affected == 0


async def test_what_git_does_not_have_yet_stays(attic: Attic) -> None:
    message = await attic.send(attic.seeded.red)
    await attic.read(attic.seeded.red, message)
    attic.seeded.clock.step(DAYS * DAY_S)

    assert (await attic.purge()).messages_affected == 0


async def test_only_the_operator_purges(attic: Attic) -> None:
    request = PurgeRequest(project_key="/code/app", max_age_days=1, dry_run=True)

    with pytest.raises(PermissionDenied):
        await attic.service().purge(ANYBODY, request)


async def test_a_project_that_is_not_there_is_told(attic: Attic) -> None:
    with pytest.raises(NotFound):
        await attic.purge(project="/code/none")


async def test_mail_that_a_spared_project_got_stays(attic: Attic) -> None:
    await attic.old(attic.seeded.red, attic.seeded.fox)

    spared = await attic.purge(ignored=("/code/l*",))
    named = await attic.purge(ignored=("code-app",))

    assert (spared.messages_affected, named.messages_affected) == (0, 1)


async def test_a_call_takes_so_many_at_most_and_a_repeat_the_rest(
    attic: Attic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PURGED_PER_CALL", 25)
    for _ in range(30):
        await attic.read(attic.seeded.red, await attic.send(attic.seeded.red))
    await attic.old(attic.seeded.red)

    first, second = await attic.purge(), await attic.purge()

    assert (first.messages_affected, second.messages_affected) == (25, 6)
    assert len(attic.paced) == 4  # lots of 10, 10 and 5, then of 6
    assert find_faults(attic.path) == []


def _kept(attic: Attic, data: bytes, *, days: int) -> StoredContent:
    """Beside the database, and last touched so long ago."""
    content = keep_content(attic.path.parent, data)
    long_ago = time.time() - days * DAY_S
    os.utime(content_path(attic.path.parent, content), (long_ago, long_ago))
    return content


async def test_what_no_mail_carries_any_more_goes_from_beside_the_database(attic: Attic) -> None:
    mine, shared, fresh = (_kept(attic, data, days=days) for data, days in ((b"1", DAYS), (b"2", DAYS), (b"3", 0)))
    carried = (attached(mine, original=shared), attached(fresh))
    await attic.old(attic.seeded.red, carried=carried)
    await attic.send(attic.seeded.red, carried=(attached(shared),))

    await attic.purge()

    left = {content.sha256 for content in attic.contents.each()}
    assert left == {shared.sha256, fresh.sha256}  # carried by other mail; perhaps by a send that is under way


async def test_a_content_that_cannot_be_removed_keeps_no_mail_from_going(
    attic: Attic, caplog: pytest.LogCaptureFixture
) -> None:
    content = _kept(attic, b"1", days=DAYS)
    message = await attic.old(attic.seeded.red, carried=(attached(content),))
    place = content_path(attic.path.parent, content)
    place.unlink()
    (place / "a folder").mkdir(parents=True)
    long_ago = time.time() - DAYS * DAY_S
    os.utime(place, (long_ago, long_ago))

    await attic.purge()

    assert (await attic.found(message.id)).purged_ts is not None
    assert "what no mail carries any more cannot be removed" in caplog.text
