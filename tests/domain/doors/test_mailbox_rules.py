from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.doors.mailbox_rules import (
    IdleRules,
    MailPending,
    idle_since,
    is_listed,
    may_retire,
    require_nothing_pending,
)

NOW = Micros(1_800_000_000 * SECOND)
HOUR = 3_600 * SECOND


def listed(ago: int, *, minutes: int = 60, is_callers: bool = False, pending: int = 0) -> bool:
    rules = IdleRules(hide_after_minutes=minutes, retire_after_minutes=0)
    return is_listed(
        last_seen_ts=Micros(NOW - ago), now=NOW, rules=rules, is_callers=is_callers, pending_for_caller=pending
    )


def test_what_was_seen_within_the_time_is_listed_and_what_was_not_is_hidden() -> None:
    assert listed(HOUR)
    assert not listed(HOUR + 1)


def test_the_caller_and_whose_mail_waits_for_it_are_listed_however_idle() -> None:
    assert listed(HOUR * 1_000, is_callers=True)
    assert listed(HOUR * 1_000, pending=1)


def test_no_minutes_are_for_ever() -> None:
    assert listed(HOUR * 1_000, minutes=0)
    assert idle_since(NOW, 0) is None
    assert idle_since(NOW, 2) == NOW - 120 * SECOND


def test_mail_and_who_waits_for_it_keep_a_mailbox() -> None:
    assert may_retire(pending=0, is_waiting=False)
    assert not may_retire(pending=1, is_waiting=False)
    assert not may_retire(pending=0, is_waiting=True)


def test_a_mailbox_goes_only_when_nothing_waits_either_way() -> None:
    require_nothing_pending("bob", pending=0, is_sent_pending=False)
    with pytest.raises(MailPending, match="2 messages wait in the mailbox 'bob'"):
        require_nothing_pending("bob", pending=2, is_sent_pending=False)
    with pytest.raises(MailPending, match="Mail from 'bob' waits elsewhere"):
        require_nothing_pending("bob", pending=0, is_sent_pending=True)
