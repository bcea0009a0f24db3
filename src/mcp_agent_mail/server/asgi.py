"""The whole server as one ASGI application, for who runs uvicorn: `uvicorn mcp_agent_mail.server.asgi:api --port 8000`.

The door `postal` is open in it, as users of that system start theirs; every other setting counts as for `am serve`. The
store is owned from the startup of uvicorn's lifespan to its shutdown. Where uvicorn listens is its own business, so
that this server learns its address from the first request, and serves this machine alone unless HTTP_HOST says more.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from types import FrameType

from starlette.types import Receive, Scope, Send

from mcp_agent_mail import __version__
from mcp_agent_mail.core.concurrency.hearing import SentPromise
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.failpoints import NO_FAULTS
from mcp_agent_mail.core.settings.kinds import is_loopback
from mcp_agent_mail.core.settings.rows_delivery import most_waiters
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.core.settings.sources import SettingsError
from mcp_agent_mail.features.archiving.lost_database import require_database
from mcp_agent_mail.features.health.results import ServerPlace
from mcp_agent_mail.server.lifespan import OwnedStore, StopTime, open_services, start_services
from mcp_agent_mail.server.observability.log_file import bounded_log
from mcp_agent_mail.server.operator_token import operator_token_file
from mcp_agent_mail.server.rendering.responses import send_detail
from mcp_agent_mail.server.serve import quiet_fastmcp
from mcp_agent_mail.server.transport.answers import OUTPUT
from mcp_agent_mail.server.transport.listener import base_url
from mcp_agent_mail.store.engine.faults import faults_told
from mcp_agent_mail.store.engine.free_space import told_when_full
from mcp_agent_mail.store.engine.lock import StoreLock

_NOT_HERE = (
    "This server is for its own machine. To serve others set HTTP_HOST to the address that uvicorn is given, and "
    "HTTP_BEARER_TOKEN."
)
_STOPS = (signal.SIGTERM, signal.SIGINT)


def read_settings() -> Settings:
    """Of the environment, with the door open. A port of its own is not served: uvicorn has the ports. Raises
    SettingsError.
    """
    return load_settings(os.environ, cwd=Path.cwd(), overrides={"POSTAL_ENABLED": "true", "POSTAL_PORT": "0"}).settings


class AsgiServer:
    """Serves between its lifespan's startup and shutdown. A start that fails says why, in the words of `am serve`."""

    def __init__(self, read: Callable[[], Settings] = read_settings) -> None:
        self._read = read
        self._announce: Callable[[Scope], None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if not self._is_for_here(scope):
            await send_detail(send, 403, _NOT_HERE)
            return
        if self._announce is not None:
            announce, self._announce = self._announce, None
            announce(scope)
        scope[OUTPUT] = _SentOutput()
        await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        has_started = False
        try:
            settings = self._read()
            with told_when_full(settings.storage_root, settings.database_path), faults_told():
                async with AsyncExitStack() as stack:
                    stopping = await self._open(stack, settings)
                    has_started = True
                    await send({"type": "lifespan.startup.complete"})
                    await receive()
                    stopping.begin()
        except (AgentMailError, SettingsError) as error:
            if has_started:
                raise
            await send({"type": "lifespan.startup.failed", "message": _words(error)})
            return
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self, stack: AsyncExitStack, settings: Settings) -> StopTime:
        quiet_fastmcp()
        # FastMCP takes a second to import: a taken store is told before.
        from mcp_agent_mail.server.assembly import build_http_app  # noqa: PLC0415

        lock = stack.enter_context(StoreLock(settings.storage_root, settings.database_path))
        require_database(settings.storage_root, settings.database_path)
        log_keeper = await stack.enter_async_context(bounded_log(settings.storage_root))
        operator_token = stack.enter_context(operator_token_file(settings.storage_root))
        owned = OwnedStore(lock=lock, log_keeper=log_keeper, operator_token=operator_token, place=_place(settings))
        stopping = StopTime(settings.shutdown_timeout_seconds)
        services = await open_services(stack, settings, owned, stopping, NO_FAULTS)
        app = build_http_app(settings, services, operator_token=operator_token)
        app.bound_waiters(most_waiters(settings.http_max_connections))
        await stack.enter_async_context(app.opened())
        stack.callback(app.end_streams)
        stack.enter_context(_told_of_stops(services.wake))
        start_services(services)
        self._app = app
        self._serves_others = not is_loopback(settings.http_host)

        def announce(scope: Scope) -> None:
            _host, port = scope.get("server") or (None, None)
            if port is not None:
                lock.announce(base_url(settings.http_host, port))

        self._announce = announce
        return stopping

    def _is_for_here(self, scope: Scope) -> bool:
        """Of a socket in the file system, whose folder says who may come, too."""
        host, port = scope.get("server") or (None, None)
        return self._serves_others or port is None or (host is not None and is_loopback(host))


class _SentOutput:
    """Stands for the connection, which is uvicorn's: what it was given to write counts as sent."""

    @contextmanager
    def ending(self, promises: Iterable[SentPromise]) -> Iterator[None]:
        yield
        for promise in promises:
            promise.sent()


@contextmanager
def _told_of_stops(tell: Callable[[], None]) -> Iterator[None]:
    """Inside, `tell` is called before uvicorn's own handler is: it waits for the last answers, and those for mail."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _STOPS}

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(tell)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    try:
        for number in _STOPS:
            signal.signal(number, handle)
    except ValueError:  # Not in the main thread: whoever runs uvicorn there stops it as well.
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _words(error: AgentMailError | SettingsError) -> str:
    return error.text if isinstance(error, AgentMailError) else str(error)


def _place(settings: Settings) -> ServerPlace:
    return ServerPlace(
        environment=settings.app_environment,
        http_host=settings.http_host,
        http_port=settings.http_port,
        http_path=settings.http_path,
        database_url=settings.database_url,
        version=__version__,
    )


api = AsgiServer()
