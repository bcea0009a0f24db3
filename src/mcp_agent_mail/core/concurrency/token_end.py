"""Whether the token that a call came with still counts: asked where a call ends because its caller has left.

A call that waits outlasts the look at its token. The server tells each one how to look again; a call from anywhere else
(the command line in process, a test) came with none that could end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mcp_agent_mail.core.errors import AuthenticationRequired

_counts: ContextVar[Callable[[], bool]] = ContextVar("token_counts", default=lambda: True)


class TokenEnded(AuthenticationRequired):
    """The token that the call came with was revoked, or has expired, while the call waited."""


@contextmanager
def called_by_token(counts: Callable[[], bool]) -> Iterator[None]:
    """Inside, `counts` says whether the call's token still does."""
    reset = _counts.set(counts)
    try:
        yield
    finally:
        _counts.reset(reset)


def token_ended() -> TokenEnded | None:
    """Why the running call is refused whose token counts no longer; None where it does."""
    if _counts.get()():
        return None
    return TokenEnded(
        "The token that this call came with counts no longer: it was revoked, or has expired. Nothing was given to "
        "the call.",
        hint="Call again with a token that counts; whoever issued this one can issue another.",
    )
