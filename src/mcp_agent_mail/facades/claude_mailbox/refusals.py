"""Refusals in this door's form: `{"error": "…"}`, a status that fits, and for programs a reason where there is one."""

from __future__ import annotations

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.doors.mailbox_rules import MailPending, MissingMailbox, NameNotOwned, UsedName
from mcp_agent_mail.domain.doors.names import UnfitWireName
from mcp_agent_mail.domain.messages import BodyTooLong
from mcp_agent_mail.facades.asgi import PlainAnswer
from mcp_agent_mail.facades.claude_mailbox.callers import CallerMissing

_STATUS = {
    "INVALID_INPUT": 400,
    "NOT_FOUND": 404,
    "RECIPIENT_NOT_FOUND": 404,
    "AUTHENTICATION_REQUIRED": 401,
    "PERMISSION_DENIED": 403,
    "CONTACT_REQUIRED": 403,
    "CONTACT_BLOCKED": 403,
    "CONFLICT": 409,
    "RECIPIENT_RETIRED": 410,
    "RATE_LIMITED": 429,
    "QUOTA_EXCEEDED": 507,
    "UNAVAILABLE": 503,
}
_REASONS: tuple[tuple[type[AgentMailError], str], ...] = (
    (UsedName, "target-exists"),
    (MissingMailbox, "source-missing"),
    (NameNotOwned, "not-yours"),
    (MailPending, "pending"),
)
_RENAME_REASONS: tuple[tuple[type[AgentMailError], str], ...] = (
    (CallerMissing, "source-missing"),
    (UnfitWireName, "invalid"),
)


def refused(error: AgentMailError, *, of_rename: bool = False) -> PlainAnswer:
    """Nothing that the request was to be given counts as had."""
    value = {"error": error.text if error.hint else error.message}
    reasons = (*_REASONS, *_RENAME_REASONS) if of_rename else _REASONS
    reason = next((reason for kind, reason in reasons if isinstance(error, kind)), None)
    status = 413 if isinstance(error, BodyTooLong) else _STATUS.get(error.code, 500)
    return PlainAnswer(value=value if reason is None else {**value, "reason": reason}, status=status)
