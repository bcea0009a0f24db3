"""Old mail that everyone has read leaves a tombstone, and nothing else goes."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import NotFound, PermissionDenied
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.messages import Message, NewRecipient, RecipientKind
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.features.retention import service
from mcp_agent_mail.features.retention.service import Purge, PurgeRequest, RetentionRules, RetentionService
from mcp_agent_mail.features.retention.worker import RetentionPace, RetentionWorker
from mcp_agent_mail.store.checks.integrity import find_faults
from mcp_agent_mail.store.mail.message_events import post
from tests.seeded_store import SeededStore, open_seeded_store

DAYS = 30
DAY_S = 86_400
OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)


@dataclass
class Attic:
    seeded: SeededStore
    path: Path
    paced: list[int]

    def service(self, *ignored: str) -> RetentionService:
        async def throttle() -> None:
            self.paced.append(1)

        return RetentionService(
            self.seeded.store,
            RetentionRules(max_age_days=DAYS, ignored=ignored),
            find_project=require_project,
            throttle=throttle,
            clock=self.seeded.clock,
        )

    async def purge(self, *, dry_run: bool = False, project: str = "/code/app", ignored: tuple[str, ...] = ()) -> Purge:
        request = PurgeRequest(project_key=project, max_age_days=None, dry_run=dry_run)
        return await self.service(*ignored).purge(OPERATOR, request)

    async def send(
        self, *to: NewRecipient | Agent, ack_required: bool = False, thread_id: str | None = None
    ) -> Message:
        """From BlueLake; its archive is told and no event waits, as after a commit."""
        recipients = [one if isinstance(one, NewRecipient) else self.seeded.addressed([one])[0] for one in to]
        new = self.seeded.letter(
            self.seeded.blue, body="the secret plan", ack_required=ack_required, thread_id=thread_id
        )
        message, _ = await self.seeded.store.write(lambda tx: post(tx, new, recipients))
        return message

    async def commit(self) -> None:
        """As if all were in Git."""
        await self.seeded.store.write(
            lambda tx: tx.meta._connection.execute(
                "INSERT OR IGNORE INTO commits (id, project_id, hexsha, summary, authored_ts, last_seq)"
                " VALUES (1, 1, 'c', 's', 1, 1)"
            )
        )
        await self.seeded.store.write(
            lambda tx: tx.meta._connection.execute("UPDATE outbox SET commit_id = 1, snapshot = NULL")
        )

    async def read(self, agent: Agent, message: Message) -> None:
        await self.seeded.store.write(lambda tx: tx.inboxes.mark_read(agent.id, message.id, tx.now))

    async def old(self, *to: Agent, thread_id: str | None = None) -> Message:
        """Sent, read by all, in Git, and old."""
        message = await self.send(*to, thread_id=thread_id)
        for agent in to:
            await self.read(agent, message)
        await self.commit()
        self.seeded.clock.step(DAYS * DAY_S)
        return message

    async def found(self, message_id: MessageId) -> Message:
        message = await self.seeded.store.read(lambda view: view.messages.find(message_id))
        assert message is not None
        return message

    def searched(self) -> list[int]:
        sql = "SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'secret'"
        return [row for (row,) in self.seeded.store._reading.execute(sql)]


@pytest.fixture
async def attic(tmp_path: Path) -> AsyncIterator[Attic]:
    async with open_seeded_store(tmp_path) as seeded:
        yield Attic(seeded, tmp_path / "mail.sqlite3", [])


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
        lambda view: view.messages.list_thread(attic.seeded.app.id, "plans", limit=10)
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


async def test_a_pass_looks_through_every_project_but_those_left_out(
    attic: Attic, caplog: pytest.LogCaptureFixture
) -> None:
    await attic.old(attic.seeded.red)
    worker = RetentionWorker(
        attic.service("code-lib"), RetentionPace(interval_s=60, reports=True, purges=False), clock=attic.seeded.clock
    )

    with caplog.at_level(logging.INFO, logger="mcp_agent_mail.retention"):
        await worker.look()

    (record,) = caplog.records
    assert record.facts["project"] == "code-app"  # type: ignore[attr-defined]
    figures = worker.figures()
    assert (figures.old, figures.may_go, figures.purged) == (1, 1, 0)
    assert len(attic.searched()) == 1


async def test_the_worker_purges_where_it_is_asked_to_and_stops_when_told(attic: Attic) -> None:
    await attic.old(attic.seeded.red)
    worker = RetentionWorker(
        attic.service(), RetentionPace(interval_s=60, reports=False, purges=True), clock=attic.seeded.clock
    )

    await worker.look()
    worker.start()
    await worker.stop()

    assert worker.figures().purged == 1
    assert attic.searched() == []
