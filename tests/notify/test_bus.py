from __future__ import annotations

from collections.abc import Callable

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.notify.bus import MailBus

SOME = frozenset({AgentId(1), AgentId(2)})


def test_nobody_is_asked_to_tell_the_bus_before_somebody_listens() -> None:
    asked: list[Callable[[frozenset[AgentId]], None]] = []
    bus = MailBus(asked.append)
    assert asked == []

    bus.subscribe(lambda _: None)
    bus.subscribe(lambda _: None)

    assert len(asked) == 1


def test_everyone_who_listens_is_told_and_nobody_else() -> None:
    told: list[Callable[[frozenset[AgentId]], None]] = []
    first: list[frozenset[AgentId]] = []
    second: list[frozenset[AgentId]] = []
    bus = MailBus(told.append)
    bus.subscribe(first.append)
    bus.subscribe(second.append)

    told[0](SOME)
    bus.unsubscribe(first.append)
    told[0](SOME)

    assert (first, second) == ([SOME], [SOME, SOME])
