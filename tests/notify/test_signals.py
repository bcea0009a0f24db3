"""Signal files over a real store and a real folder: they say what the store says, whatever happened before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import NewRecipient, RecipientKind
from mcp_agent_mail.domain.signals import UnreadInbox
from mcp_agent_mail.notify.bus import MailBus
from mcp_agent_mail.notify.signal_files import SignalFiles
from mcp_agent_mail.notify.signals import MAX_REST_S, REST_PER_WORK, Mail, Signals
from mcp_agent_mail.store.database import Store
from tests.seeded_store import SeededStore, add_agent, open_seeded_store


def signals_of(store: Store, folder: Path, *, with_metadata: bool = True, debounce_s: float = 0.0) -> Signals:
    async def settle() -> None:
        await store.write(lambda _: None)

    async def inboxes(agents: Sequence[AgentId]) -> list[UnreadInbox]:
        return await store.read(lambda view: view.unread.inboxes(agents))

    async def agents_after(last: int, limit: int) -> list[AgentId]:
        return await store.read(lambda view: view.unread.after(last, limit))

    mail = Mail(
        inboxes=inboxes,
        agents_after=agents_after,
        settle=settle,
    )
    files = SignalFiles(folder, with_metadata=with_metadata)
    return Signals(mail, MailBus(store.on_mail_change), files, debounce_s=debounce_s, clock=store._clock)


@dataclass
class Watch:
    """`signals` is not started: a test says when it looks."""

    seeded: SeededStore
    folder: Path
    signals: Signals

    def path(self, agent: Agent) -> Path:
        return self.folder / "projects" / self.seeded.project_of(agent).slug / "agents" / f"{agent.name}.signal"

    def content(self, agent: Agent) -> Any:
        return json.loads(self.path(agent).read_bytes())

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.rglob("*") if path.is_file())

    async def send(self, *to: NewRecipient) -> MessageId:
        message, _ = await self.seeded.post(self.seeded.letter(self.seeded.blue), *to)
        return message.id

    async def send_to(self, *agents: Agent, kind: RecipientKind = RecipientKind.TO) -> MessageId:
        return await self.send(*self.seeded.addressed(agents, kind))

    async def read(self, agent: Agent, message_id: MessageId) -> None:
        await self.seeded.store.write(lambda tx: tx.inboxes.mark_read(agent.id, message_id, tx.now))

    async def look(self) -> None:
        await asyncio.sleep(0)  # what the commit told is on its way
        await self.signals.catch_up()


@pytest.fixture
async def watch(tmp_path: Path) -> AsyncIterator[Watch]:
    async with open_seeded_store(tmp_path) as seeded:
        signals = signals_of(seeded.store, tmp_path / "signals")
        signals._bus.subscribe(signals.note)
        await signals.reconcile()
        await signals.catch_up()
        yield Watch(seeded, tmp_path / "signals", signals)


async def test_a_signal_says_which_unread_message_is_the_newest(watch: Watch) -> None:
    await watch.send_to(watch.seeded.red)
    newest = await watch.send_to(watch.seeded.red)
    await watch.look()

    assert watch.content(watch.seeded.red) == {
        "timestamp": "2027-01-15T08:00:00.000000+00:00",
        "project": "code-app",
        "agent": "RedStone",
        "message": {"id": newest, "from": "BlueLake", "subject": "Plan", "importance": "normal"},
    }
    assert watch.names() == ["RedStone.signal"]


async def test_a_signal_goes_with_the_last_unread_message_and_not_before(watch: Watch) -> None:
    first = await watch.send_to(watch.seeded.red)
    second = await watch.send_to(watch.seeded.red)
    await watch.read(watch.seeded.red, second)
    await watch.look()
    assert watch.content(watch.seeded.red)["message"]["id"] == first

    await watch.read(watch.seeded.red, first)
    await watch.look()

    assert watch.names() == []


async def test_a_read_that_changes_nothing_leaves_the_signal(watch: Watch) -> None:
    message_id = await watch.send_to(watch.seeded.red)
    await watch.read(watch.seeded.green, message_id)
    await watch.seeded.store.read(lambda view: view.unread.inboxes([watch.seeded.red.id]))
    await watch.look()

    assert watch.names() == ["RedStone.signal"]


async def test_a_blind_copy_signals_its_recipient(watch: Watch) -> None:
    await watch.send_to(watch.seeded.fox, kind=RecipientKind.BCC)
    await watch.look()

    assert watch.content(watch.seeded.fox)["message"]["from"] == "BlueLake@code-app"


async def test_held_mail_signals_nothing_until_it_is_approved(watch: Watch) -> None:
    blue, red = watch.seeded.blue, watch.seeded.red
    held = NewRecipient(agent=red, project=watch.seeded.app, kind=RecipientKind.TO, held_code="CONTACT_REQUIRED")
    await watch.send(held)
    await watch.look()
    assert watch.names() == []

    await watch.seeded.store.write(lambda tx: tx.held.deliver(blue.id, red.id, tx.now))
    await watch.look()

    assert watch.names() == ["RedStone.signal"]


async def test_after_a_restart_the_files_are_made_true_and_strange_ones_stay(watch: Watch) -> None:
    await watch.send_to(watch.seeded.red)
    stale = watch.path(watch.seeded.green)
    stale.parent.mkdir(parents=True)
    stale.write_text("left behind")
    strange = [watch.folder / "README", stale.with_name("Stranger.signal"), stale.with_name("GreenField.txt")]
    for path in strange:
        path.write_text("not ours")

    again = signals_of(watch.seeded.store, watch.folder)
    await again.reconcile()
    await again.catch_up()

    assert watch.names() == ["GreenField.txt", "README", "RedStone.signal", "Stranger.signal"]
    assert [path.read_text() for path in strange] == ["not ours"] * 3


async def test_what_cannot_be_written_is_shown_and_tried_again_and_holds_up_nobody(watch: Watch) -> None:
    in_the_way = watch.path(watch.seeded.red)
    in_the_way.mkdir(parents=True)
    await watch.send_to(watch.seeded.red, watch.seeded.green)
    await watch.look()

    figures = watch.signals.figures()
    assert figures.failed == 1
    assert "RedStone.signal" in str(figures.last_error)
    assert watch.names() == ["GreenField.signal"]

    in_the_way.rmdir()
    watch.signals.note(frozenset(watch.signals._failed))
    await watch.signals.catch_up()

    assert (watch.signals.figures().failed, watch.signals.figures().last_error) == (0, None)
    assert watch.names() == ["GreenField.signal", "RedStone.signal"]


async def test_every_agent_is_looked_at_at_the_start_however_many_there_are(watch: Watch) -> None:
    seeded = watch.seeded
    many = await seeded.store.write(lambda tx: [add_agent(tx, seeded.app, f"Agent{number}") for number in range(250)])
    await watch.send_to(*many)
    again = signals_of(seeded.store, watch.folder)

    await again.reconcile()
    await again.catch_up()

    assert len(watch.names()) == 250


async def test_the_task_follows_mail_and_a_stop_looks_once_more(watch: Watch) -> None:
    signals = signals_of(watch.seeded.store, watch.folder, debounce_s=60.0)
    signals.start()
    await watch.send_to(watch.seeded.red)

    await signals.stop()

    assert watch.names() == ["RedStone.signal"]
    assert signals.figures().reconciled_at == watch.seeded.clock.now


async def test_signals_that_never_started_stop_at_once(watch: Watch) -> None:
    await signals_of(watch.seeded.store, watch.folder).stop()


async def test_a_pass_is_followed_by_a_rest_in_proportion_and_within_the_second(watch: Watch) -> None:
    signals = signals_of(watch.seeded.store, watch.folder, debounce_s=0.1)

    fresh = signals.window_s(1_000.0)
    signals.rest_from(1_000.0, worked_s=0.004)
    after_work = signals.window_s(1_000.0)
    signals.rest_from(1_000.0, worked_s=10.0)
    after_much_work = signals.window_s(1_000.0)
    after_a_quiet_time = signals.window_s(1_060.0)

    assert (fresh, after_a_quiet_time) == (0.1, 0.1)
    assert after_work == pytest.approx(0.004 * REST_PER_WORK)
    assert after_much_work == pytest.approx(MAX_REST_S)
    assert after_much_work < 1
