"""How an answer is written: as a whole, or piece by piece, each when the client has taken what came before."""

from __future__ import annotations

import asyncio
from typing import Protocol

from starlette.types import Scope

ANSWERED = "mcp_agent_mail.answered"
"""Key in the ASGI scope of the connection that is answered, where the server has one of its own."""


class AnsweredConnection(Protocol):
    transport: asyncio.Transport
    is_streaming: bool

    def write_answer(self, data: bytes) -> None:
        """Write a piece of an answer."""

    def close_after_answer(self) -> None:
        """Close once the client can have read it."""


class AnswerOutput:
    """What a request's answer is written to: the connection, which is closed only once its client can have read it."""

    def __init__(self, connection: AnsweredConnection) -> None:
        self._connection = connection
        self.is_closing = connection.transport.is_closing

    def write(self, data: bytes) -> None:
        if not self.is_closing():  # uvloop raises for what is written to a connection that is gone
            self._connection.write_answer(data)

    def close(self) -> None:
        self._connection.close_after_answer()


def begin_stream(scope: Scope) -> None:
    """From now on `send` waits until the client can take more: to be said before a long answer begins."""
    connection: AnsweredConnection | None = scope.get(ANSWERED)
    if connection is not None:
        connection.is_streaming = True
