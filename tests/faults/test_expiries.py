"""Mail that expires while the store cannot be written: it ends as soon as it can, without a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.messages import Importance, Terms
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed
from mcp_agent_mail.store.mail.inboxes import InboxCounts
from mcp_agent_mail.store.mail.message_events import end_expired
from mcp_agent_mail.store.transaction import Tx, View
from tests.faults.test_store_faults import Trouble, io_error
from tests.seeded_store import SeededStore, SetClock, open_seeded_store

LIFE_S = 10
UNREAD = InboxCounts(total=1, unread=1, ack_pending=0, urgent_unread=1)
ENDED = InboxCounts(total=1, unread=0, ack_pending=0, urgent_unread=0)


@dataclass
class Letterbox:
    """A store in which BlueLake has written to RedStone what is of use for LIFE_S."""

    store: Store
    clock: SetClock
    reader: AgentId

    async def counts(self) -> InboxCounts:
        return await self.store.read(lambda view: view.inboxes.counts(self.reader))

    async def events(self) -> list[str]:
        def look(view: View) -> list[str]:
            return [entry.event for entry in view.feed.after(self.reader, 0, 10, is_proven=True)]

        return await self.store.read(look)


async def send(seeded: SeededStore) -> None:
    until = Micros(seeded.clock.now + LIFE_S * SECOND)
    letter = replace(seeded.letter(seeded.blue, importance=Importance.URGENT), terms=Terms(valid_until=until))
    await seeded.post(letter, *seeded.addressed([seeded.red]))


@asynccontextmanager
async def letterbox(root: Path, trouble: Trouble) -> AsyncIterator[Letterbox]:
    async with open_seeded_store(root) as seeded:
        await send(seeded)
    async with Store(root / "mail.sqlite3", clock=seeded.clock, fault_hook=trouble) as store:
        yield Letterbox(store, seeded.clock, seeded.red.id)


@pytest.mark.parametrize("point", [FailPoint.IN_UNIT, FailPoint.BEFORE_COMMIT])
async def test_an_end_that_could_not_be_written_is_written_with_the_next_look(tmp_path: Path, point: FailPoint) -> None:
    trouble = Trouble(point, io_error())
    async with letterbox(tmp_path, trouble) as box:
        box.clock.step(LIFE_S)
        trouble.is_on = True
        for _ in range(3):
            with pytest.raises(Unavailable):
                await box.store.end_expired()
        trouble.is_on = False

        counts = await box.counts()

        assert counts == ENDED
        assert await box.events() == ["delivered", "expired"]


async def test_a_commit_that_fails_leaves_the_end_to_the_next_look(tmp_path: Path) -> None:
    def break_the_commit(tx: Tx) -> None:
        end_expired(tx)
        connection = tx.messages._connection
        connection.execute("PRAGMA defer_foreign_keys=ON")
        connection.execute("UPDATE recipients SET superseded_by = 999")

    async with letterbox(tmp_path, Trouble(FailPoint.IN_UNIT, io_error())) as box:
        box.clock.step(LIFE_S)
        with pytest.raises(StoreFailed, match="FOREIGN KEY"):
            await box.store._writer.write(break_the_commit)

        assert await box.counts() == ENDED


async def test_a_unit_that_fails_once_it_has_ended_mail_leaves_the_end_to_the_next_look(tmp_path: Path) -> None:
    def fail_late(tx: Tx) -> None:
        end_expired(tx)
        raise LookupError

    async with letterbox(tmp_path, Trouble(FailPoint.IN_UNIT, io_error())) as box:
        box.clock.step(LIFE_S)
        with pytest.raises(LookupError):
            await box.store._writer.write(fail_late)

        assert await box.counts() == ENDED
        assert await box.events() == ["delivered", "expired"]


async def test_after_a_commit_nothing_is_due_until_the_next_end(tmp_path: Path) -> None:
    trouble = Trouble(FailPoint.BEFORE_COMMIT, io_error())
    async with letterbox(tmp_path, trouble) as box:
        box.clock.step(LIFE_S)
        await box.store.end_expired()
        trouble.is_on = True

        await box.store.end_expired()

        assert await box.counts() == ENDED
