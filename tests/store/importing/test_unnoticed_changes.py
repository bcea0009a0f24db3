from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store


async def test_of_one_transaction_what_came_before_and_after_is_told(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        told: set[AgentId] = set()
        seeded.store.on_mail_change(told.update)
        await seeded.store.write(lambda _: None)

        def unit(tx: Tx) -> None:
            tx.messages.add(seeded.letter(seeded.blue), seeded.addressed([seeded.red]), tx.now)
            with tx.unnoticed():
                tx.messages.add(seeded.letter(seeded.blue), seeded.addressed([seeded.green]), tx.now)
                tx.messages.add(seeded.letter(seeded.blue), seeded.addressed([seeded.red]), tx.now)
            tx.messages.add(seeded.letter(seeded.blue), seeded.addressed([seeded.fox]), tx.now)

        await seeded.store.write(unit)
        await seeded.store.write(lambda _: None)

    assert told == {seeded.red.id, seeded.fox.id}


async def test_where_nobody_listens_nothing_is_made(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        await _in_silence(seeded)

        ((count,),) = await seeded.store.read(
            lambda view: view.pops._connection.execute("SELECT count(*) FROM messages").fetchall()
        )

    assert count == 1


async def _in_silence(seeded: SeededStore) -> None:
    def unit(tx: Tx) -> None:
        with tx.unnoticed():
            tx.messages.add(seeded.letter(seeded.blue), seeded.addressed([seeded.red]), tx.now)

    await seeded.store.write(unit)
