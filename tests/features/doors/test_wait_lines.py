from __future__ import annotations

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.features.delivery.waiters import MailWaiter, WaiterKind
from mcp_agent_mail.features.doors.wait_lines import WaitLines

BOB = AgentId(7)


def waiter() -> MailWaiter:
    return MailWaiter(BOB, WaiterKind.WAIT, lambda _: None, holder=BOB, is_proven=False)


async def test_the_first_is_first_until_it_leaves_and_the_next_is_woken() -> None:
    lines, one, two = WaitLines(), waiter(), waiter()

    with lines.place(BOB, two):
        with lines.place(BOB, one):
            assert lines.is_first(BOB, two)
            assert not lines.is_first(BOB, one)
        two.begin_look()
        with lines.place(AgentId(8), one):
            assert lines.is_first(AgentId(8), one)
        changed = two.is_changed
    assert not changed

    with lines.place(BOB, one):
        later = lines.place(BOB, two)
        later.__enter__()
        two.begin_look()
    woken = two.is_changed
    assert woken
    assert lines.is_first(BOB, two)
    later.__exit__(None, None, None)
