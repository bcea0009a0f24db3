"""uvicorn, told to let us decide when to stop and what happens around it."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic

import uvicorn
import uvloop

from mcp_agent_mail.core.settings.rows_delivery import most_waiters
from mcp_agent_mail.server.mcp_endpoint import MAX_STREAMS
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimiter
from mcp_agent_mail.server.transport.http import HttpApp
from mcp_agent_mail.server.transport.last_requests import LAST_REQUESTS_WITHIN_S, ClosingHttp

KEEP_ALIVE_S = 75
"""Agents think for a minute between calls; uvicorn's 5 s would cost them a connection each time."""

_STREAMS_PART = 4
"""A quarter of the connections, where there are few, for streams of MCP."""
TICK_S = 1.0
"""uvicorn's own is a tenth of that, to see that it is to stop: half of what an idle server would cost."""
ACCEPTED_AT_ONCE = 16
"""Connections in one round of the event loop: who comes anew waits for few rounds while others keep it busy."""
_UNENDED_S = 0.5
"""From the end of what is overdue to uvicorn's own end of it."""
_log = logging.getLogger("mcp_agent_mail.server")
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_HANG_UP = signal.SIGHUP
"""A terminal that closes sends it, and the shell in it once more."""


def _accepting(listeners: Iterable[socket.socket]) -> list[socket.socket]:
    """What accepts at these: uvloop takes one connection for each socket in a round, asyncio all that wait. Whoever
    closes the server closes the copies with it.
    """
    if not isinstance(asyncio.get_running_loop(), uvloop.Loop):
        return list(listeners)
    return [*listeners, *(listener.dup() for listener in listeners for _ in range(ACCEPTED_AT_ONCE - 1))]


class WebServer(uvicorn.Server):
    """Serves `app` on an open socket until SIGTERM, SIGINT or SIGHUP; a second SIGTERM or SIGINT stops without waiting.

    `serve` returns after the last answer. (uvicorn itself would raise the signal again, which ends
    the process before the queues are drained.)
    """

    def __init__(
        self,
        app: HttpApp,
        *,
        grace_s: float,
        on_started: Callable[[], None],
        on_stopping: Callable[[], object],
        limiter: ConnectionLimiter | None = None,
    ) -> None:
        self._limiter = limiter or ConnectionLimiter(monotonic)
        app.bound_streams(min(MAX_STREAMS, self._limiter.size.connections // _STREAMS_PART))
        app.bound_waiters(most_waiters(self._limiter.size.connections))
        protocol = partial(ClosingHttp, limiter=self._limiter, speaks_mcp=app.speaks_mcp)
        super().__init__(
            uvicorn.Config(
                app,
                http=protocol,  # type: ignore[arg-type]  # called with the rest
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=grace_s + _UNENDED_S,  # type: ignore[arg-type]  # asyncio.wait_for's
            )
        )
        self._http_app = app
        self._grace_s = grace_s
        self._is_to_stop = asyncio.Event()
        self._was_told = False
        self._on_started = on_started
        self._on_stopping = on_stopping

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Until the block ends the signals go to `handle_exit`; afterwards the process has the default handling of
        SIGTERM and SIGINT again. SIGHUP stays ignored where it was (`nohup`), and is ignored from then on elsewhere.
        """
        loop = asyncio.get_running_loop()
        is_heard = signal.getsignal(_HANG_UP) is not signal.SIG_IGN
        heard = (*_SIGNALS, _HANG_UP) if is_heard else _SIGNALS
        for number in heard:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in heard:
                loop.remove_signal_handler(number)
            if is_heard:
                signal.signal(_HANG_UP, signal.SIG_IGN)

    def handle_exit(self, sig: int, frame: object) -> None:  # noqa: ARG002  # uvicorn's signature
        """Stop; at a second SIGTERM or SIGINT without waiting. SIGHUP counts as neither first nor second."""
        if sig != _HANG_UP:
            self.force_exit = self._was_told
            self._was_told = True
        self.stop_soon()

    def stop_soon(self) -> None:
        """Stop as at a signal, on the event loop; who calls does not wait for it."""
        self.should_exit = True
        self._is_to_stop.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=_accepting(sockets or []))
        self._on_started()

    async def main_loop(self) -> None:
        """Until a stop begins; each tick does what uvicorn does at every tenth of its own."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_to_stop.wait(), TICK_S)

    async def on_tick(self, counter: int) -> bool:
        self._limiter.sweep()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, answer what those that there are have asked or are about to, and close them.

        A connection that was taken a moment ago may still be asking: closed, its call would be lost.
        """
        self._limiter.is_stopping = True
        self._on_stopping()
        self._http_app.end_streams()
        loop = asyncio.get_running_loop()
        ends = (
            loop.call_later(LAST_REQUESTS_WITHIN_S, self._end_unfinished),
            loop.call_later(self._grace_s, self._end_overdue),
        )
        try:
            await super().shutdown(sockets=sockets)
        finally:
            for end in ends:
                end.cancel()

    def _end_unfinished(self) -> None:
        for connection in list(self.server_state.connections):
            assert isinstance(connection, ClosingHttp), "the protocol that this server was made with"
            connection.end_unfinished()

    def _end_overdue(self) -> None:
        """The stop's time is over. What does not let itself be cancelled is uvicorn's to complain of."""
        tasks = list(self.server_state.tasks)
        if tasks:
            _log.info(
                "requests did not end within the time of a stop, and are ended",
                extra={"facts": {"requests": len(tasks)}},
            )
        for task in tasks:
            task.cancel()
