"""Inboxes against a model: whatever happens in whatever order, nothing is lost, doubled or miscounted."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.features.messaging.harness import MessagingHarness, open_messaging

AGENTS = ("BlueLake", "RedStone", "GreenField")
names = st.sampled_from(AGENTS)


@dataclass
class Item:
    id: int
    urgent: bool
    ack_required: bool
    topic: str | None
    delivered_ts: int
    read: bool = False
    acknowledged: bool = False


@dataclass
class Box:
    """One agent's inbox in order of delivery, and how far its pager has come."""

    items: list[Item] = field(default_factory=list)
    paged: list[int] = field(default_factory=list)


class Inboxes(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        directory = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.harness: MessagingHarness = self.run_in_loop(
            self.stack.enter_async_context(open_messaging(Path(directory)))
        )
        self.boxes = {name: Box() for name in AGENTS}
        self.ids: list[int] = []

    def run_in_loop(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    def teardown(self) -> None:
        self.run_in_loop(self.stack.aclose())
        self.runner.close()

    @rule(
        sender=names,
        to=st.lists(names, min_size=1, max_size=4),
        bcc=st.lists(names, max_size=2),
        importance=st.sampled_from(["low", "normal", "high", "urgent"]),
        ack_required=st.booleans(),
        topic=st.sampled_from([None, "build", "BUILD", "other"]),
    )
    def send(self, sender: str, to: list[str], bcc: list[str], **what: Any) -> None:
        answer = self.run_in_loop(self.harness.send(sender_name=sender, to=to, bcc=bcc, **what))
        message_id = answer["deliveries"][0]["payload"]["id"]
        self.ids.append(message_id)
        for name in dict.fromkeys((*to, *bcc)):
            self.boxes[name].items.append(
                Item(
                    id=message_id,
                    urgent=what["importance"] in ("high", "urgent"),
                    ack_required=what["ack_required"],
                    topic=what["topic"],
                    delivered_ts=max([self.harness.seeded.clock.now, *(i.delivered_ts for i in self.all_items())]),
                )
            )

    def all_items(self) -> list[Item]:
        return [item for box in self.boxes.values() for item in box.items]

    @rule(seconds=st.integers(-3, 5))
    def time_passes(self, seconds: int) -> None:
        self.harness.seeded.clock.step(seconds)

    @precondition(lambda self: self.ids)
    @rule(name=names, data=st.data(), acknowledge=st.booleans())
    def receipt(self, name: str, data: st.DataObject, acknowledge: bool) -> None:
        message_id = data.draw(st.sampled_from(self.ids))
        tool = "acknowledge_message" if acknowledge else "mark_message_read"
        answer = self.run_in_loop(self.harness.call(tool, agent_name=name, message_id=message_id))
        mine = [item for item in self.boxes[name].items if item.id == message_id]
        for item in mine:
            item.read = True
            item.acknowledged = item.acknowledged or acknowledge
        assert answer["acknowledged" if acknowledge else "read"] == bool(mine)

    @rule(name=names, limit=st.integers(1, 3))
    def page_on(self, name: str, limit: int) -> None:
        box = self.boxes[name]
        after = box.paged[-1] if box.paged else 0
        page = self.run_in_loop(self.harness.inbox(name, after_id=after, limit=limit))
        box.paged += [item["id"] for item in page]
        assert box.paged == [item.id for item in box.items][: len(box.paged)]
        assert len(page) == limit or len(box.paged) == len(box.items)

    @rule(
        name=names,
        urgent_only=st.booleans(),
        unread_only=st.booleans(),
        topic=st.sampled_from([None, "build"]),
        since=st.sampled_from([None, -5, 0]),
    )
    def filtered(self, name: str, since: int | None, topic: str | None, **only: bool) -> None:
        since_us = None if since is None else self.harness.seeded.clock.now + since * 1_000_000
        since_ts = None if since_us is None else f"{since_us // 1_000_000}"
        floor = -1 if since_us is None else since_us // 1_000_000 * 1_000_000
        page = self.run_in_loop(self.harness.inbox(name, limit=1_000, topic=topic, since_ts=since_ts, **only))
        expected = [
            item.id
            for item in reversed(self.boxes[name].items)
            if (not only["urgent_only"] or item.urgent)
            and (not only["unread_only"] or not item.read)
            and (topic is None or (item.topic or "").lower() == topic)
            and item.delivered_ts > floor
        ]
        assert [item["id"] for item in page] == expected

    @invariant()
    def unread_is_counted_exactly(self) -> None:
        counts = dict(
            self.harness.rows("SELECT name, unread_count FROM agents WHERE project_id = ?", self.harness.seeded.app.id)
        )
        assert {name: counts[name] for name in AGENTS} == {
            name: sum(not item.read for item in box.items) for name, box in self.boxes.items()
        }

    @invariant()
    def what_waits_for_an_acknowledgement_is_listed(self) -> None:
        for name, box in self.boxes.items():
            view = self.run_in_loop(self.harness.read(f"views/ack-required/{name}?project=code-app&limit=1000"))
            assert [item["id"] for item in view["messages"]] == [
                item.id for item in reversed(box.items) if item.ack_required and not item.acknowledged
            ]


TestInboxes = Inboxes.TestCase
TestInboxes.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
