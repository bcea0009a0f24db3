"""The one place where services are made and given to each other: a function of `wiring` for each group of them."""

from __future__ import annotations

from mcp_agent_mail.bootstrap.attachments import attachment_parts
from mcp_agent_mail.bootstrap.custom_tools import CustomTools
from mcp_agent_mail.bootstrap.imports import import_service
from mcp_agent_mail.bootstrap.pages import page_services
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.bootstrap.tables import resource_table, stream_table, tool_table, watch_table
from mcp_agent_mail.bootstrap.wiring import (
    archive_places,
    archiver_settings,
    contact_service,
    delivery_hooks,
    delivery_service,
    door_service,
    health_service,
    identity_service,
    introspection_service,
    lease_services,
    macro_service,
    mailbox_service,
    messaging_service,
    project_identities,
    project_service,
    recording,
    subscriptions_of,
    summary_service,
    waiters_of,
)
from mcp_agent_mail.core.clock import Clock, Micros, system_clock
from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.failpoints import NO_FAULTS, Faults
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.identity.windows import DAY
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.features.completion.service import SuggestionService
from mcp_agent_mail.features.delivery.evidence import DeliveryEvidence
from mcp_agent_mail.features.delivery.marks import DeliveryMarks
from mcp_agent_mail.features.delivery.presence import Presences
from mcp_agent_mail.features.doors.window_service import WindowMailboxService
from mcp_agent_mail.features.guarding.install import GuardInstallation
from mcp_agent_mail.features.guarding.service import GuardingService
from mcp_agent_mail.features.guarding.spool import SpoolDrain
from mcp_agent_mail.features.health.results import ServerPlace
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.identity.join_codes import JoinCodeService
from mcp_agent_mail.features.identity.windows import WindowService
from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
from mcp_agent_mail.features.issued_tokens.service import IssuedTokenService
from mcp_agent_mail.features.products.service import ProductService
from mcp_agent_mail.features.projects.lent_folders import FolderLook
from mcp_agent_mail.features.projects.path_resolution import ResolvingTables
from mcp_agent_mail.features.search.service import SearchService
from mcp_agent_mail.notify.bus import MailBus
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.workers import build_workers


def build_services(
    settings: Settings,
    store: Store,
    *,
    place: ServerPlace,
    operator_token: str,
    clock: Clock = system_clock,
    faults: Faults = NO_FAULTS,
    custom: CustomTools | None = None,
) -> Services:
    """Wire the services over an open store. Starts nothing, and imports no FastMCP."""
    activity = Activity(store, clock=clock, window_ttl=Micros(settings.mcp_agent_mail_window_ttl_days * DAY))
    evidence = DeliveryEvidence(marks := DeliveryMarks(store, clock=clock))
    waiters = waiters_of(settings, store, bus := MailBus(store.on_mail_change))
    presence = Presences(window_s=settings.listening_window_seconds, clock=clock, live=waiters)
    hooks = delivery_hooks(evidence, presence, activity)
    identity = identity_service(settings, store, activity, hooks, operator_token=operator_token, clock=clock)
    identities = project_identities(settings, (looks := Looks()))
    projects = project_service(settings, store, (places := archive_places(settings)), identities)
    attachments = attachment_parts(settings, places, FolderLook(store, identities).find, fault_hook=faults.fault_hook)
    archiving = ArchivingService(store, archiver_settings(settings, failpoint=faults.archiver), clock=clock)
    messaging = messaging_service(
        settings, store, identity, attachments, hooks=hooks, throttle=(pace := archiving.pace.keep), clock=clock
    )
    leases = lease_services(settings, store, identity, activity, looks, clock)
    workers = build_workers(settings, store, bus, waiters, throttle=pace, contents=attachments.files, clock=clock)
    services = Services(
        projects=projects,
        identity=identity,
        windows=WindowService(store, activity, clock=clock),
        join_codes=JoinCodeService(store, clock=clock),
        issued_tokens=IssuedTokenService(store, (token_book := IssuedTokenBook(store, clock=clock)), clock=clock),
        token_book=token_book,
        recording=(recorded := recording(settings, store, clock)),
        pages=page_services(settings, store, identities, token_book, recorded.usage, clock),
        guard_installation=GuardInstallation(store),
        guarding=(guarding := GuardingService(store, clock=clock)),
        guard_spool=SpoolDrain(guarding, settings.storage_root, clock=clock),
        contacts=contact_service(settings, store, identity),
        attachments=attachments,
        messaging=messaging,
        delivery=delivery_service(store, waiters, identity, hooks, presence),
        delivery_marks=marks,
        doors=(doors := door_service(settings, store, identity, messaging, projects, waiters)),
        importing=import_service(settings, store, projects, attachments.files, throttle=archiving.pace.keep_longer),
        window_mailboxes=WindowMailboxService(store, doors, waiters, note_activity=identity.touch),
        mailboxes=mailbox_service(settings, store, doors, waiters, identity, activity),
        subscriptions=subscriptions_of(store, waiters, identity),
        search=SearchService(store),
        summaries=(summaries := summary_service(settings, store, clock)),
        products=ProductService(store, summaries, load_inline=messaging.load_inline, note_handed=hooks.handed),
        archiving=archiving,
        health=(health := health_service(store, place, archiving, leases, workers, waiters, clock=clock)),
        activity=activity,
        leases=leases,
        workers=workers,
        looks=looks,
        custom=custom or CustomTools(),
    )
    health.keepers = services.keepers
    return _with_tables(services, ResolvingTables(store, identities), settings, store, clock)


def _with_tables(
    services: Services, tables: ResolvingTables, settings: Settings, store: Store, clock: Clock
) -> Services:
    """Last, over the finished services."""
    services.macros, services.suggestions = macro_service(store, services), SuggestionService(store)
    services.resolver = tables.resolver
    services.tools, services.streams = tool_table(services, tables), stream_table(services, tables)
    services.subscriptions.watchable = watch_table(store, services, tables)
    services.resources = resource_table(services, tables, introspection_service(settings, store, services, clock))
    return services
