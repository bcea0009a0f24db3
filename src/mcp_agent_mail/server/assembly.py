"""The HTTP application over the services: MCP, `/rpc`, the guard's routes and what stands before them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fastmcp import FastMCP

from mcp_agent_mail import __version__
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.concurrency.call_places import CallPlaces
from mcp_agent_mail.core.profiles import Profiles, custom_profile
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.facades.claims.profile import CLAIMS
from mcp_agent_mail.server.attachments import PREFIX as ATTACHMENTS
from mcp_agent_mail.server.attachments import AttachmentEndpoint
from mcp_agent_mail.server.completion import suggesting
from mcp_agent_mail.server.dispatch import Calls
from mcp_agent_mail.server.doors import open_doors
from mcp_agent_mail.server.edge.by_settings import bearers_of, edge_of, sign_in_of
from mcp_agent_mail.server.edge.edge import Edge
from mcp_agent_mail.server.edge.paths import PathClass
from mcp_agent_mail.server.fast_path.fast_path import FastPath
from mcp_agent_mail.server.guard import CHECK, EVENTS, GuardEndpoint
from mcp_agent_mail.server.mcp import create_mcp, fast_path_of
from mcp_agent_mail.server.mcp_endpoint import McpEndpoint
from mcp_agent_mail.server.observability.call_lines import CallLines
from mcp_agent_mail.server.observability.metrics import PATH as METRICS
from mcp_agent_mail.server.observability.metrics import BesideFigures, MetricsPage
from mcp_agent_mail.server.pages.endpoint import PagesEndpoint
from mcp_agent_mail.server.preferences import Connections
from mcp_agent_mail.server.rendering.formats import Output, OutputFormat
from mcp_agent_mail.server.rest.endpoint import MOUNT as REST
from mcp_agent_mail.server.rest.endpoint import Rest
from mcp_agent_mail.server.rest.events import EventsEndpoint
from mcp_agent_mail.server.rest.routes import EVENTS as STREAM
from mcp_agent_mail.server.subscriptions import SubscriptionEndpoint
from mcp_agent_mail.server.transport.connection_limits import ConnectionFigures
from mcp_agent_mail.server.transport.http import HttpApp, HttpOptions, Route, ServedPath

if TYPE_CHECKING:
    from mcp_agent_mail.server.observability.tracing import CallTracer


def build_http_app(
    settings: Settings,
    services: Services,
    *,
    operator_token: str,
    tracer: CallTracer | None = None,
    lines: CallLines | None = None,
    door_ports: Mapping[int, Door] = MappingProxyType({}),
    connections: Callable[[], ConnectionFigures] | None = None,
) -> HttpApp:
    """The application over services that are open, by the settings. Nothing is served before its `opened`; with a
    `tracer` each call becomes a span, with `lines` those that change something are told. Whoever shows
    `operator_token` is the operator. `door_ports` are bound for doors alone; of `connections`, where they are ours to
    count, the metrics tell.
    """
    calls = Calls(
        services.tools,
        services.resources,
        log_calls=settings.tools_log_enabled,
        usage=services.recording.usage,
        tracer=tracer,
        lines=lines,
        places=CallPlaces(settings.http_max_calls),
        find_proven=services.identity.find_proven,
    )
    services.custom.host.run = calls.run_within
    suggest = suggesting(services.suggestions, services.identity.caller)
    subscriptions = SubscriptionEndpoint(services.subscriptions)
    edge = edge_of(settings, bearers_of(settings, services, operator_token=operator_token))
    mcp = create_mcp(calls, version=__version__, suggest=suggest, subscriptions=subscriptions)
    return HttpApp(
        create_endpoint(
            mcp,
            subscriptions,
            fixtures=settings.test_fixtures_enabled,
            fast_path=fast_path_of(mcp, calls) if settings.http_fast_path_enabled else None,
        ),
        calls,
        edge,
        HttpOptions(
            http_path=settings.http_path,
            log_requests=settings.http_request_log_enabled,
            reads_trace=calls.are_traced,
            connections=connections_of(settings, services.custom.names()),
            routes={
                METRICS: ServedPath(PathClass.METRICS, _metrics(services, calls, edge, connections).answer),
                **{path: ServedPath(one, make(services, calls)) for path, (one, make) in ROUTES.items()},
            },
            endpoints={CLAIMS.name: _claims(settings, services, calls)} if settings.claims_enabled else {},
            doors=open_doors(settings, services, calls, door_ports),
            bound_waiters=services.delivery.waiters.bound,
            sign_in=sign_in_of(settings),
            pages=_pages(settings, services, calls, edge),
        ),
        is_ready=services.health.is_ready,
    )


def _pages(settings: Settings, services: Services, calls: Calls, edge: Edge) -> PagesEndpoint | None:
    return PagesEndpoint(services, calls, edge, public_url=settings.http_public_url) if settings.web_enabled else None


def _claims(settings: Settings, services: Services, calls: Calls) -> McpEndpoint:
    from mcp_agent_mail.server.claims import claims_endpoint  # noqa: PLC0415  # a profile that is off costs no start

    return claims_endpoint(services, calls, has_fast_path=settings.http_fast_path_enabled)


def _beside(
    services: Services, calls: Calls, edge: Edge, connections: Callable[[], ConnectionFigures] | None
) -> Callable[[], BesideFigures]:
    return lambda: BesideFigures(
        calls=calls.places.figures(),
        edge=edge.figures(),
        connections=None if connections is None else connections(),
        keepers=[keeper.figures() for keeper in services.keepers()],
        silent_directories=sum(looks.silent() for looks in services.all_looks()),
        lost_threads=sum(looks.lost_threads() for looks in services.all_looks()),
        waiting=services.delivery.waiters.figures(),
        feed_tail=services.delivery.feed_tail(),
        door_waits=services.doors.waits.figures(),
        owed=services.health.count_owed(),
        webhooks=None if (webhooks := services.workers.webhooks) is None else webhooks.figures(),
    )


def _metrics(
    services: Services, calls: Calls, edge: Edge, connections: Callable[[], ConnectionFigures] | None
) -> MetricsPage:
    beside = _beside(services, calls, edge, connections)
    return MetricsPage(services.recording, services.archiving.status, beside, services.identity.caller)


def _guard(services: Services) -> GuardEndpoint:
    return GuardEndpoint(services.guarding, services.resolver, services.identity.caller)


def _attachments(services: Services) -> AttachmentEndpoint:
    return AttachmentEndpoint(services.messaging, services.identity.caller)


def _events(services: Services) -> EventsEndpoint:
    return EventsEndpoint(services.streams, services.identity.caller)


ROUTES: Mapping[str, tuple[PathClass, Callable[[Services, Calls], Route]]] = {
    CHECK: (PathClass.GUARD, lambda services, _: _guard(services).check),
    EVENTS: (PathClass.GUARD, lambda services, _: _guard(services).record),
    ATTACHMENTS: (PathClass.ATTACHMENT, lambda services, _: _attachments(services).answer),
    REST: (PathClass.REST, lambda services, calls: Rest(calls, own={STREAM: _events(services).answer}).answer),
}
"""The paths beside MCP, `/rpc` and the metrics, each of its class: whole ones, and with a closing slash all below."""


def connections_of(settings: Settings, loaded: Sequence[str] = ()) -> Connections:
    """The profile and the output format that a connection gets unless it asks for others. `loaded` are the tools of
    other packages.
    """
    output = Output(format=OutputFormat(settings.mcp_agent_mail_output_format), source="default")
    also = (CLAIMS,) if settings.claims_enabled else ()
    if not settings.tools_filter_enabled:
        return Connections(Profiles(also=also), output)
    if settings.tools_filter_profile != "custom":
        return Connections(Profiles(Profiles().require(settings.tools_filter_profile), also), output)
    custom = custom_profile(
        mode=settings.tools_filter_mode,
        clusters=settings.tools_filter_clusters or (),
        tools=settings.tools_filter_tools or (),
        loaded=loaded,
    )
    return Connections(Profiles(custom, also), output)


def create_endpoint(
    mcp: FastMCP[Any],
    subscriptions: SubscriptionEndpoint | None = None,
    *,
    fixtures: bool,
    fast_path: FastPath | None = None,
) -> McpEndpoint:
    """The MCP endpoint of a server, with what testers call beside it when `fixtures`."""
    if not fixtures:
        return McpEndpoint(mcp, subscriptions=subscriptions, fast_path=fast_path)
    from mcp_agent_mail.server.fixtures.endpoint import FixtureEndpoint  # noqa: PLC0415  # testers only
    from mcp_agent_mail.server.fixtures.mount import mount_fixtures  # noqa: PLC0415

    mount_fixtures(mcp)
    return FixtureEndpoint(mcp, subscriptions=subscriptions, fast_path=fast_path)
