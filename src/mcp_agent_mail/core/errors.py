"""The error types that reach a caller: one class per wire code.

A rule that refuses something raises a subclass of one of these beside the rule itself; the
surface (MCP, `/rpc`, CLI) turns it into the one wire shape with `to_wire`. Everything that is
not an `AgentMailError` is a bug: it is masked as INTERNAL and logged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self


class AgentMailError(Exception):
    """A refusal that its caller can act on.

    `message` states the fact, `hint` the next step, `data` what a program needs (nearest names,
    accepted values, `retry_after_s`, `suggested_tool_calls`). `recoverable` says whether another
    call, changed as the hint says, can succeed. `refused` is the name or the key that is, where a rule does not know by
    which argument it came: `core.arguments` finds that.
    """

    code: ClassVar[str] = "INTERNAL"
    recoverable: ClassVar[bool] = True

    def __init__(
        self, message: str, *, hint: str = "", data: Mapping[str, Any] | None = None, refused: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.data: dict[str, Any] = dict(data or {})
        self.refused = refused

    @property
    def text(self) -> str:
        """The fact and the next step as one text: for whoever shows no more than that."""
        return in_sentences(self.message, self.hint)

    def reworded(self, *, hint: str, data: Mapping[str, Any], message: str | None = None) -> Self:
        """The same refusal with another next step, and another fact where one is given; this one stays as it is."""
        # Not copied: that would make one from its text alone, which few refusals take.
        other = type(self).__new__(type(self), *self.args)
        other.__dict__.update(self.__dict__)
        other.hint, other.data = hint, dict(data)
        if message is not None:
            other.args, other.message = (message,), message
        return other

    def to_wire(self) -> dict[str, Any]:
        """The `error` object of the wire contract."""
        return {
            "type": self.code,
            "message": self.message,
            "recoverable": self.recoverable,
            "hint": self.hint,
            "data": self.data,
        }


class NotFound(AgentMailError):
    code = "NOT_FOUND"


class InvalidInput(AgentMailError):
    code = "INVALID_INPUT"


class Conflict(AgentMailError):
    code = "CONFLICT"


class PermissionDenied(AgentMailError):
    code = "PERMISSION_DENIED"


class AuthenticationRequired(AgentMailError):
    code = "AUTHENTICATION_REQUIRED"


class RecipientNotFound(AgentMailError):
    code = "RECIPIENT_NOT_FOUND"


class RecipientRetired(AgentMailError):
    code = "RECIPIENT_RETIRED"


class ContactRequired(AgentMailError):
    code = "CONTACT_REQUIRED"


class ContactBlocked(AgentMailError):
    code = "CONTACT_BLOCKED"


class FileReservationConflict(AgentMailError):
    code = "FILE_RESERVATION_CONFLICT"


class QuotaExceeded(AgentMailError):
    code = "QUOTA_EXCEEDED"


class IdempotencyKeyConflict(AgentMailError):
    code = "IDEMPOTENCY_KEY_CONFLICT"


class CursorExpired(AgentMailError):
    code = "CURSOR_EXPIRED"


class CursorAhead(AgentMailError):
    code = "CURSOR_AHEAD"


class Unavailable(AgentMailError):
    code = "UNAVAILABLE"


class RateLimited(AgentMailError):
    """Whoever asks has asked too often: when it may again, `data.retry_after_s` says."""

    code = "RATE_LIMITED"


KEYED = " (a send with its idempotency_key)"
"""How a hint says which call is safe to repeat: for whoever makes calls."""


class Busy(Unavailable):
    """The same call can succeed in a moment: when, its hint says in words and `retry_after_s` to a program.

    `first` and `otherwise` are what the hint says besides, before and after.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after_s: int = 1,
        first: str = "",
        otherwise: str = "",
        data: Mapping[str, Any] | None = None,
    ) -> None:
        hint = f"{first} Call again in {retry_after_s} s{otherwise}.".strip()
        super().__init__(message, hint=hint, data={**(data or {}), "retry_after_s": retry_after_s})


class Internal(AgentMailError):
    """What a masked bug looks like from outside."""

    code = "INTERNAL"
    recoverable = False


def suggest_call(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """One entry of `data.suggested_tool_calls`."""
    return {"tool": tool, "arguments": dict(arguments)}


def call_text(call: Mapping[str, Any]) -> str:
    """Such an entry as it stands in a sentence; its values are JSON."""
    written = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call["arguments"].items())
    return f"{call['tool']}({', '.join(written)})"


def listed(names: Sequence[str], conjunction: str = "or") -> str:
    """Names as they stand in a sentence: `a, b or c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {conjunction} {names[-1]}"


def in_sentences(*parts: str) -> str:
    """The parts that say something, one after the other: what is followed ends as a sentence, the last as it stands."""
    told = [part.strip() for part in parts if part.strip()]
    return " ".join([*(part if part[-1] in ".!?:" else f"{part}." for part in told[:-1]), *told[-1:]])
