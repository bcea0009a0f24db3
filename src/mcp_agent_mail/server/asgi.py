"""The whole server as one ASGI application, for who runs it in a process of their own: under uvicorn, or below a prefix
of a parent application. `mcp_agent_mail.asgi` is what they import; `api` here is for users of another system.

The store is owned from the startup of the lifespan to its shutdown. Who listens, and where, is the business of whoever
runs it, so that the server learns its address from the first request unless it was told, and serves this machine alone
unless HTTP_HOST says more.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.types import Receive, Scope, Send

from mcp_agent_mail import __version__
from mcp_agent_mail.bootstrap.custom_tools import load_custom_tools
from mcp_agent_mail.bootstrap.owned_store import owned_store
from mcp_agent_mail.core.concurrency.hearing import SentPromise
from mcp_agent_mail.core.errors import AgentMailError, Unavailable, listed
from mcp_agent_mail.core.failpoints import NO_FAULTS
from mcp_agent_mail.core.settings.addresses import base_url, is_loopback
from mcp_agent_mail.core.settings.mcp_paths import MCP_PATHS
from mcp_agent_mail.core.settings.rows_delivery import most_waiters
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.core.settings.sources import SettingsError
from mcp_agent_mail.features.archiving.lost_database import require_database
from mcp_agent_mail.features.health.results import ServerPlace
from mcp_agent_mail.server.door_ports import wanted_ports
from mcp_agent_mail.server.lifespan import OwnedStore, StopTime, open_services, opened_spans, start_beside, tune_later
from mcp_agent_mail.server.observability.log_file import bounded_log
from mcp_agent_mail.server.operator_token import operator_token_file
from mcp_agent_mail.server.rendering.responses import refusing_over_mcp, send_detail
from mcp_agent_mail.server.serve import fastmcp_quieted
from mcp_agent_mail.server.transport.answers import OUTPUT, PREFIX
from mcp_agent_mail.store.engine.free_space import told_when_full
from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.sqlite.faults import faults_told, told_when_unwritable

if TYPE_CHECKING:
    from mcp_agent_mail.server.transport.http import HttpApp

_NOT_HERE = (
    "This server is for its own machine. To serve others set HTTP_HOST to the address that uvicorn is given, and "
    "HTTP_BEARER_TOKEN."
)
_NOT_STARTED = (
    "This server is not running: its lifespan has not begun, or has ended. A parent application enters it in its own "
    "lifespan: async with mcp_agent_mail.asgi.lifespan(app)."
)
logger = logging.getLogger("mcp_agent_mail.server")
_STOPS = (signal.SIGTERM, signal.SIGINT)


def read_settings() -> Settings:
    """Of the environment, with the door open. A port of its own is not served: uvicorn has the ports. Raises
    SettingsError.
    """
    return load_settings(os.environ, cwd=Path.cwd(), overrides={"POSTAL_ENABLED": "true", "POSTAL_PORT": "0"}).settings


class NoDoorPorts(Unavailable):
    """The settings open ports for doors, which only `am serve` binds."""


class AsgiServer:
    """Serves between startup and shutdown of its lifespan, or inside of `opened`; else it answers 503. A start that
    fails says why, in the words of `am serve`. `url` is where clients on this machine reach it, if that is known before
    the first request.
    """

    def __init__(self, read: Callable[[], Settings] = read_settings, *, url: str | None = None) -> None:
        self._read = read
        self._url = url
        self._app: HttpApp | None = None
        self._serves_others = False
        self._announce: Callable[[Scope], bool] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        elif self._app is None:
            await send_detail(self._in_words_for(scope, send), 503, _NOT_STARTED)
        elif not self._is_for_here(scope):
            await send_detail(self._in_words_for(scope, send), 403, _NOT_HERE)
        else:
            if self._announce is not None and self._announce(scope):
                self._announce = None
            prefix: str = scope.get("root_path", "").rstrip("/")
            await self._app({**_below_prefix(scope), OUTPUT: _SentOutput(), PREFIX: prefix}, receive, send)

    def _in_words_for(self, scope: Scope, send: Send) -> Send:
        """MCP clients are refused in words that they read. HTTP_PATH is known while the server runs."""
        path: str = _below_prefix(scope)["path"]
        is_mcp = path.rstrip("/") in MCP_PATHS
        if self._app is not None:
            is_mcp = self._app.speaks_mcp(path, scope.get("server"))
        return refusing_over_mcp(send) if is_mcp else send

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Owns the store and serves between entry and exit, which drains the archive. Raises SettingsError, and
        AgentMailError (StoreInUse, DiskFull, …) where it cannot start, and what is raised inside as it is. What is the
        process's own stays as it is.
        """
        settings = self._read()
        with _told(settings):
            async with AsyncExitStack() as opening:
                stopping = await self._open(opening, settings)
                stack = opening.pop_all()
        try:
            yield
        except BaseException:
            # The parent's: told by our own groups and words it would be another one.
            stopping.begin()
            try:
                await stack.aclose()
            except Exception:
                logger.exception("The server could not close what it had opened")
            raise
        stopping.begin()
        with _told(settings):
            await stack.aclose()

    async def _live(self, receive: Receive, send: Send) -> None:
        """The process is ours alone."""
        await receive()
        has_started = False
        try:
            async with self.opened():
                tuning = tune_later()
                has_started = True
                await send({"type": "lifespan.startup.complete"})
                await receive()
                tuning.cancel()
        except (AgentMailError, SettingsError, OSError) as error:
            if has_started:
                raise
            await send({"type": "lifespan.startup.failed", "message": _words(error)})
            return
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self, stack: AsyncExitStack, settings: Settings) -> StopTime:
        _require_no_ports(settings)
        lock = stack.enter_context(owned_store(settings))
        require_database(settings.storage_root, settings.database_path)
        custom = load_custom_tools(settings.custom_tools or ())
        with fastmcp_quieted():
            # FastMCP takes a second to import: a taken store is told before.
            from mcp_agent_mail.server.assembly import build_http_app  # noqa: PLC0415

        log_keeper = await stack.enter_async_context(bounded_log(settings.storage_root))
        operator_token = stack.enter_context(operator_token_file(settings.storage_root))
        owned = OwnedStore(
            lock=lock, log_keeper=log_keeper, operator_token=operator_token, place=_place(settings), custom=custom
        )
        stopping = StopTime(settings.shutdown_timeout_seconds)
        services = await open_services(stack, settings, owned, stopping, NO_FAULTS)
        tracer = await stack.enter_async_context(opened_spans(settings))
        app = build_http_app(settings, services, operator_token=operator_token, tracer=tracer)
        app.bound_waiters(most_waiters(settings.http_max_connections))
        await stack.enter_async_context(app.opened())
        stack.callback(app.end_streams)

        def stop_waiting() -> None:
            services.wake()
            app.end_streams()

        stack.enter_context(_told_of_stops(stop_waiting))
        stack.callback(start_beside(services).cancel)
        self._serves_others = not is_loopback(settings.http_host)
        self._announce = _announcing(lock, settings.http_host, self._url)
        self._app = app
        stack.callback(self._end)
        return stopping

    def _end(self) -> None:
        self._app, self._announce = None, None

    def _is_for_here(self, scope: Scope) -> bool:
        """Of a socket in the file system, whose folder says who may come, too."""
        host, port = scope.get("server") or (None, None)
        return self._serves_others or port is None or (host is not None and is_loopback(host))


@contextmanager
def _told(settings: Settings) -> Iterator[None]:
    """Inside, what the disk and SQLite make fail is told in words of ours."""
    places = (settings.storage_root, settings.database_path)
    with told_when_unwritable(*places), told_when_full(*places), faults_told():
        yield


def _require_no_ports(settings: Settings) -> None:
    named = sorted({f"{one.setting}" for one in wanted_ports(settings)})
    if named:
        raise NoDoorPorts(
            f"{listed(named, 'and')} would open ports of their own, which only `am serve` listens on.",
            hint="Run `am serve`, or switch those doors off here; POSTAL_PORT=0 leaves postal its paths.",
            data={"settings": named},
        )


def _announcing(lock: StoreLock, host: str, url: str | None) -> Callable[[Scope], bool] | None:
    """What tells commands on this machine by a request where the server is, and whether it could; None where that was
    known and is told.
    """
    if url is not None:
        lock.announce(url.rstrip("/"))
        return None

    def announce(scope: Scope) -> bool:
        _host, port = scope.get("server") or (None, None)
        prefix = _mounted_at(scope)
        if port is None or prefix is None or scope.get("scheme") == "https":
            return False
        lock.announce(base_url(host, port) + quote(prefix))
        return True

    return announce


def _mounted_at(scope: Scope) -> str | None:
    """The prefix at which a parent application has the server, empty without one. None where it is not known whether
    the prefix is the parent's: one that a proxy takes off is not there for who asks the port itself.
    """
    prefix: str = scope.get("root_path", "")
    proxys: str | None = scope.get("app_root_path")
    if proxys is None:
        return None if prefix else ""
    return prefix.removeprefix(proxys)


def _below_prefix(scope: Scope) -> Scope:
    """The request as it would be without the prefix: servers and parents hand on whole paths, and say of which part of
    them they have made use.
    """
    prefix: str = scope.get("root_path", "").rstrip("/")
    path: str = scope["path"]
    if not prefix or not f"{path}/".startswith(f"{prefix}/"):
        return dict(scope)
    below = {**scope, "path": path[len(prefix) :] or "/", "root_path": ""}
    raw: bytes = below.pop("raw_path", None) or b""
    if raw.startswith(raw_prefix := prefix.encode()):
        below["raw_path"] = raw[len(raw_prefix) :] or b"/"
    return below


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


def _words(error: AgentMailError | SettingsError | OSError) -> str:
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
