"""The SDK's session beside which a request is answered: whether that can be, and that it does not idle meanwhile."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager

from mcp.server.streamable_http import StreamableHTTPServerTransport


def answers_in_json(session: StreamableHTTPServerTransport) -> bool:
    """Whether it lives and answers each request in one JSON body: else the SDK has more to say of it."""
    is_ending = session.idle_scope is not None and session.idle_scope.cancel_called
    return session.is_json_response_enabled and not session.is_terminated and not is_ending


@contextmanager
def held(session: StreamableHTTPServerTransport) -> Iterator[None]:
    """Inside, the session does not end for being idle, and its idle time begins anew at the end: as where the SDK
    answers.
    """
    idle, idle_s = session.idle_scope, session._idle_timeout  # noqa: SLF001  # guarded by tests/server/fast_path
    if idle is None or idle_s is None:
        yield
        return
    session._requests_in_flight += 1  # noqa: SLF001
    idle.deadline = math.inf
    try:
        yield
    finally:
        session._requests_in_flight -= 1  # noqa: SLF001
        if not session._requests_in_flight:  # noqa: SLF001
            idle.deadline = asyncio.get_running_loop().time() + idle_s
