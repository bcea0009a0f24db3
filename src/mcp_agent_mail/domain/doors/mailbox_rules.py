"""Mailboxes of ClaudeMailbox: when one is in lists, when it retires, and what it may be called from now on."""

from __future__ import annotations

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import Conflict, InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass


class UsedName(Conflict):
    """A mailbox, or an agent, is called that already."""


class MissingMailbox(InvalidInput):
    """There is no mailbox of the name that was to be changed."""


class NameNotOwned(Conflict):
    """The name is an agent's of this server, or another door's: it is not this door's to change."""


class MailPending(Conflict):
    """A mailbox stays while mail waits in it, or mail of it elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleRules:
    """Minutes without a call after which a mailbox is left out of lists, and retires. 0 is never."""

    hide_after_minutes: int
    retire_after_minutes: int


def idle_since(now: Micros, minutes: int) -> Micros | None:
    """What was last seen before this is idle for so long; None where nothing ever is."""
    return None if minutes <= 0 else Micros(now - minutes * 60 * SECOND)


def is_listed(
    *, last_seen_ts: Micros, now: Micros, rules: IdleRules, is_callers: bool, pending_for_caller: int
) -> bool:
    """Whoever asks is, and whoever's mail waits for who asks, however long ago they were seen."""
    before = idle_since(now, rules.hide_after_minutes)
    return is_callers or pending_for_caller > 0 or before is None or last_seen_ts >= before


def may_retire(*, pending: int, is_waiting: bool) -> bool:
    """An idle mailbox stays while mail waits in it, or somebody waits for its mail."""
    return not pending and not is_waiting


def require_nothing_pending(name: str, *, pending: int, is_sent_pending: bool) -> None:
    """Raise MailPending where the mailbox cannot go yet."""
    if pending:
        raise MailPending(
            f"{pending} messages wait in the mailbox {name!r:.100}.",
            hint="Check it first.",
            data={"name": name, "pending": pending},
        )
    if is_sent_pending:
        raise MailPending(
            f"Mail from {name!r:.100} waits elsewhere.",
            hint="It goes once that is read.",
            data={"name": name, "pending": 0},
        )
