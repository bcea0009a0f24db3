"""What a running server is made of, opened in order and closed in reverse.

Cheap refusals come first (a taken store, a taken port), then the heavy import of FastMCP, then the
store. The archive's child process starts after the first readiness: no caller waits for it. A stop
takes no new requests, finishes the running ones, drains the archive, closes the store, and lets
the lock go last.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_agent_mail import __version__
from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.custom_tools import CustomTools, load_custom_tools
from mcp_agent_mail.bootstrap.owned_store import owned_store
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.errors import in_sentences
from mcp_agent_mail.core.failpoints import NO_FAULTS, FailPoint, FaultHook, Faults
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.addresses import base_url, bound_url
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.features.archiving.ahead_archives import go_on_above_archives
from mcp_agent_mail.features.archiving.lost_database import require_database
from mcp_agent_mail.features.doors.homes import DOORS_WITHOUT_PROJECT
from mcp_agent_mail.features.health.results import ServerPlace
from mcp_agent_mail.server.door_ports import DoorPorts, opened_ports, wanted_ports
from mcp_agent_mail.server.observability.call_lines import CallLines
from mcp_agent_mail.server.observability.log_file import bounded_log
from mcp_agent_mail.server.operator_token import operator_token_file
from mcp_agent_mail.server.transport.listener import open_listener
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.free_space import told_when_full
from mcp_agent_mail.store.engine.instrumentation import QueryFigures
from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.noted_numbers import NOTE_FILE
from mcp_agent_mail.store.engine.sqlite.faults import faults_told, told_when_unwritable
from mcp_agent_mail.store.instrumented_store import InstrumentedStore

if TYPE_CHECKING:
    from mcp_agent_mail.server.observability.tracing import CallTracer

BESIDE_AFTER_S = 0.1
GC_AFTER_S = 1.0
GC_THRESHOLDS = (20_000, 20, 50)
OWNER_TOLD_EVERY_S = 10.0
REQUESTS_SHARE = 0.4
"""Of SHUTDOWN_TIMEOUT_SECONDS, what running requests get; the archive gets the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server that answers. `url` is its base for clients on this machine, `bound_url` what it listens on; `doors` are
    the URLs that doors have to themselves.
    """

    version: str
    url: str
    bound_url: str
    mcp_path: str
    storage_root: Path
    pid: int
    doors: Mapping[str, Door] = field(default_factory=dict)


Announce = Callable[[Running], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedStore:
    """What a server has before it opens the store that it owns. `log_keeper` keeps its log file, if it has one."""

    lock: StoreLock
    log_keeper: Keeper | None
    operator_token: str
    place: ServerPlace
    custom: CustomTools = field(default_factory=CustomTools)


async def run_server(
    settings: Settings,
    announce: Announce,
    faults: Faults = NO_FAULTS,
    lines: CallLines | None = None,
    *,
    handed: socket.socket | None = None,
) -> None:
    """Serve until a signal, and tell `lines` of the calls that change something. A listening socket that was `handed`
    over is used, and closed: the settings hold its address. Raises AgentMailError (StoreInUse, PortTaken, DiskFull, …)
    when it cannot start.
    """
    places = (settings.storage_root, settings.database_path)
    with told_when_unwritable(*places), told_when_full(*places), faults_told():
        await _run_server(settings, announce, faults, lines, handed)


async def _run_server(
    settings: Settings, announce: Announce, faults: Faults, lines: CallLines | None, handed: socket.socket | None
) -> None:
    fault_hook = faults.fault_hook
    async with AsyncExitStack() as stack:
        lock = stack.enter_context(owned_store(settings))
        require_database(settings.storage_root, settings.database_path)
        custom = load_custom_tools(settings.custom_tools or ())
        fault_hook(FailPoint.START)
        log_keeper = await stack.enter_async_context(bounded_log(settings.storage_root))
        listener = stack.enter_context(handed or open_listener(settings.http_host, settings.http_port))
        ports = stack.enter_context(opened_ports(settings.facades_host, wanted_ports(settings)))
        running = _running(settings, listener, ports)
        operator_token = stack.enter_context(operator_token_file(settings.storage_root))
        fault_hook(FailPoint.START)
        owned = OwnedStore(
            lock=lock,
            log_keeper=log_keeper,
            operator_token=operator_token,
            place=_place(settings, running, listener),
            custom=custom,
        )
        stopping = StopTime(settings.shutdown_timeout_seconds)
        services = await open_services(stack, settings, owned, stopping, faults)

        def started() -> None:
            lock.announce(running.url, listens_on=running.bound_url)
            fault_hook(FailPoint.START)
            announce(running)
            start_services(services)

        await _serve_http(settings, services, operator_token, listener, ports, started, stopping, lines)


async def open_services(
    stack: AsyncExitStack, settings: Settings, owned: OwnedStore, stopping: StopTime, faults: Faults
) -> Services:
    """All that a server works with, over the store that it owns; the exit of `stack` drains and closes them. Raises
    what opening a store raises.
    """
    fault_hook = faults.fault_hook
    store = await stack.enter_async_context(_store(settings, fault_hook))
    went_on = await go_on_above_archives(store, settings.storage_root)
    fault_hook(FailPoint.START)
    services = build_services(
        settings,
        store,
        place=owned.place,
        operator_token=owned.operator_token,
        faults=faults,
        custom=owned.custom,
    )
    services.token_book.load()
    await services.doors.give_back_open()
    if any(place.is_open and place.door in DOORS_WITHOUT_PROJECT for place in services.doors.places):
        await services.doors.homes.warn_of_none()
    for stray in went_on.strays:
        services.archiving.health.stand(Path(stray.data["path"]).name, in_sentences(stray.message, stray.hint))
    if (unnoted := went_on.unnoted) is not None:
        services.archiving.health.stand(NOTE_FILE, unnoted.text)
    services.attachments.files.remove_leftovers()
    if owned.log_keeper is not None:
        services.also_kept.append(owned.log_keeper)
    services.also_kept.append(await stack.enter_async_context(_owner_told(owned.lock)))
    stack.push_async_callback(_stop_services, services, stopping, fault_hook)
    return services


@asynccontextmanager
async def _owner_told(lock: StoreLock) -> AsyncIterator[Keeper]:
    """While it is open, what tells commands of this server is written again when it is gone."""
    keeper = Periodic("store-owner", lock.keep_told, interval_s=OWNER_TOLD_EVERY_S)
    keeper.start()
    try:
        yield keeper
    finally:
        await keeper.stop()


def _store(settings: Settings, fault_hook: FaultHook) -> Store:
    if not settings.instrumentation_enabled:
        return Store(settings.database_path, fault_hook=fault_hook, echo=settings.database_echo)
    queries = QueryFigures(slow_ms=settings.instrumentation_slow_query_ms)
    return InstrumentedStore(settings.database_path, queries, fault_hook=fault_hook, echo=settings.database_echo)


@asynccontextmanager
async def opened_spans(settings: Settings) -> AsyncIterator[CallTracer | None]:
    """What makes spans, while it is open; None where they are off, without importing what would make them."""
    if not settings.http_otel_enabled:
        yield None
        return
    from mcp_agent_mail.server.observability.tracing import opened_tracer  # noqa: PLC0415  # an extra, and slow to import

    endpoint = settings.otel_exporter_otlp_endpoint
    assert endpoint is not None, "the settings see to it"
    async with opened_tracer(service_name=settings.otel_service_name, endpoint=endpoint) as tracer:
        yield tracer


class StopTime:
    """The time left of SHUTDOWN_TIMEOUT_SECONDS once a stop has begun."""

    def __init__(self, total_s: float) -> None:
        self._total_s = total_s
        self._deadline: float | None = None

    def begin(self) -> None:
        self._deadline = time.monotonic() + self._total_s

    def left_s(self) -> float:
        return self._total_s if self._deadline is None else max(0.0, self._deadline - time.monotonic())


async def _serve_http(
    settings: Settings,
    services: Services,
    operator_token: str,
    listener: socket.socket,
    ports: DoorPorts,
    started: Callable[[], None],
    stopping: StopTime,
    lines: CallLines | None,
) -> None:
    # FastMCP takes a second to import: a taken store or port is told before.
    from mcp_agent_mail.server.assembly import build_http_app  # noqa: PLC0415
    from mcp_agent_mail.server.transport.connection_limits import ConnectionLimiter  # noqa: PLC0415
    from mcp_agent_mail.server.transport.open_files import fitting_limits  # noqa: PLC0415
    from mcp_agent_mail.server.transport.web_server import WebServer  # noqa: PLC0415

    def on_stopping() -> None:
        stopping.begin()
        services.wake()

    async with AsyncExitStack() as stack:
        tracer = await stack.enter_async_context(opened_spans(settings))
        limiter = ConnectionLimiter(time.monotonic, fitting_limits(settings.http_max_connections))
        # Where any free port was asked for, this is the one by which clients know the server.
        bound = replace(settings, http_port=listener.getsockname()[1])
        app = build_http_app(
            bound,
            services,
            operator_token=operator_token,
            tracer=tracer,
            lines=lines,
            door_ports=ports.doors,
            connections=limiter.figures,
        )
        await stack.enter_async_context(app.opened())
        server = WebServer(
            app,
            grace_s=settings.shutdown_timeout_seconds * REQUESTS_SHARE,
            on_started=started,
            on_stopping=on_stopping,
            limiter=limiter,
        )
        await server.serve(sockets=[listener, *ports.sockets])


def start_services(services: Services) -> None:
    """After the first readiness, in a process of the server's own."""
    start_beside(services)
    tune_later()


def start_beside(services: Services) -> asyncio.TimerHandle:
    """Start what works beside the requests in a moment, on the running loop: nobody waits for the archiver's start."""
    return asyncio.get_running_loop().call_later(BESIDE_AFTER_S, services.start)


def tune_later() -> asyncio.TimerHandle:
    """Tune the collector once the start is over. It is the whole process's: no matter of who is one part of it."""
    return asyncio.get_running_loop().call_later(GC_AFTER_S, tune_collector)


def tune_collector() -> None:
    """Put everything imported so far out of the collector's sight: a full walk over it took 60 to 110 ms, the p99."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()


async def _stop_services(services: Services, stopping: StopTime, fault_hook: FaultHook) -> None:
    fault_hook(FailPoint.STOP)
    await services.close(timeout_s=stopping.left_s())
    fault_hook(FailPoint.STOP)


def _running(settings: Settings, listener: socket.socket, ports: DoorPorts) -> Running:
    port = listener.getsockname()[1]
    return Running(
        version=__version__,
        url=base_url(settings.http_host, port),
        bound_url=bound_url(settings.http_host, port),
        mcp_path=settings.http_path,
        storage_root=settings.storage_root,
        pid=os.getpid(),
        doors=ports.urls,
    )


def _place(settings: Settings, running: Running, listener: socket.socket) -> ServerPlace:
    return ServerPlace(
        environment=settings.app_environment,
        http_host=settings.http_host,
        http_port=listener.getsockname()[1],
        http_path=settings.http_path,
        database_url=settings.database_url,
        version=running.version,
    )
