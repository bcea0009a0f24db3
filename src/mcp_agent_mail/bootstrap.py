"""The one place where services are made and given to each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mcp_agent_mail.core.clock import SECOND, Clock, Micros, system_clock
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.failpoints import NO_FAULTS, Faults, Kill
from mcp_agent_mail.core.resources import ResourceSpec, ResourceTable
from mcp_agent_mail.core.settings import Settings
from mcp_agent_mail.core.store_owner import LOCK_FILE as STORE_LOCK
from mcp_agent_mail.core.store_owner import read_owner
from mcp_agent_mail.core.tools import ToolSpec, ToolTable
from mcp_agent_mail.domain.caller import AgentAuth
from mcp_agent_mail.domain.contacts import AutoScope, ContactRules
from mcp_agent_mail.domain.names import NameEnforcement
from mcp_agent_mail.domain.project_identity import IdentityMode
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.staleness import StalenessRules
from mcp_agent_mail.features.archiving.launch import LOCK_FILE as ARCHIVE_LOCK
from mcp_agent_mail.features.archiving.launch import PROJECTS_FOLDER, ArchiverSettings
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.features.archiving.tools import archiving_tools
from mcp_agent_mail.features.build_slots.service import BuildSlotService
from mcp_agent_mail.features.build_slots.tools import build_slot_tools
from mcp_agent_mail.features.contacts.consent import Desk
from mcp_agent_mail.features.contacts.service import ContactService
from mcp_agent_mail.features.contacts.tools import contact_tools
from mcp_agent_mail.features.guarding.installing import GuardInstallation
from mcp_agent_mail.features.guarding.log_tools import guard_log_tools
from mcp_agent_mail.features.guarding.service import GuardingService
from mcp_agent_mail.features.guarding.spool import SpoolDrain
from mcp_agent_mail.features.guarding.tools import guard_tools
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.identity.callers import AuthRules
from mcp_agent_mail.features.identity.resources import identity_resources
from mcp_agent_mail.features.identity.service import IdentityService
from mcp_agent_mail.features.identity.tools import identity_tools
from mcp_agent_mail.features.introspection.locks import KnownLock
from mcp_agent_mail.features.introspection.recording import Recording
from mcp_agent_mail.features.introspection.resources import introspection_resources
from mcp_agent_mail.features.introspection.service import IntrospectionService, Rights
from mcp_agent_mail.features.introspection.tool_log import ToolLog
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.features.messaging.resources import messaging_resources
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.features.messaging.tools import messaging_tools
from mcp_agent_mail.features.messaging.visibility import find_mailbox, require_to_read_project
from mcp_agent_mail.features.products.resources import product_resources
from mcp_agent_mail.features.products.service import ProductService
from mcp_agent_mail.features.products.tools import product_tools
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.features.projects.resources import project_resources
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.features.projects.ties import Tables
from mcp_agent_mail.features.projects.tools import project_tools
from mcp_agent_mail.features.reservations.force_tools import force_tools
from mcp_agent_mail.features.reservations.forcing import ForceService
from mcp_agent_mail.features.reservations.resources import reservation_resources
from mcp_agent_mail.features.reservations.service import ReservationService
from mcp_agent_mail.features.reservations.staleness import Staleness
from mcp_agent_mail.features.reservations.sweeping import Sweeper, SweepRules
from mcp_agent_mail.features.reservations.tools import reservation_tools
from mcp_agent_mail.features.search.service import SearchService
from mcp_agent_mail.features.search.tools import search_tools
from mcp_agent_mail.features.summaries.service import SummaryService
from mcp_agent_mail.features.summaries.tools import summary_tools
from mcp_agent_mail.features.upkeep.resources import upkeep_resources
from mcp_agent_mail.features.upkeep.results import ServerPlace
from mcp_agent_mail.features.upkeep.service import HealthService
from mcp_agent_mail.features.upkeep.tools import upkeep_tools
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.workers import Workers, build_workers
from mcp_agent_mail.workspace.facts import Workspaces
from mcp_agent_mail.workspace.identity import WorkspaceIdentities


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseServices:
    """What file reservations and build slots share, and what works with both."""

    workspaces: Workspaces
    staleness: Staleness
    reservations: ReservationService
    sweeper: Sweeper
    force: ForceService
    build_slots: BuildSlotService


@dataclass(slots=True, kw_only=True)
class Services:
    """Everything a server, or a command in its place, works with. `close` comes before the store's.

    The tables come last: they are made of the services.
    """

    projects: ProjectService
    identity: IdentityService
    guard_installation: GuardInstallation
    guarding: GuardingService
    guard_spool: SpoolDrain
    contacts: ContactService
    messaging: MessagingService
    search: SearchService
    summaries: SummaryService
    products: ProductService
    archiving: ArchivingService
    upkeep: HealthService
    activity: Activity
    recording: Recording
    leases: LeaseServices
    workers: Workers
    tools: ToolTable = field(init=False)
    resources: ResourceTable = field(init=False)

    def start(self) -> None:
        """Start what works beside the requests: archiver and sweeper. Commands without a server leave it out."""
        self.archiving.start()
        self.guard_spool.start()
        self.leases.sweeper.start()
        self.workers.start()
        self.recording.start()

    def wake(self) -> None:
        """A stop begins: whoever waits is told, so that the last answers can go out."""
        self.leases.reservations.wake()

    async def close(self, *, timeout_s: float) -> None:
        """Write what is only in memory, then let the archiver commit what is pending for at most `timeout_s`."""
        await self.leases.reservations.close()
        await self.leases.sweeper.stop()
        await self.workers.stop()
        await self.guard_spool.close()
        await self.recording.stop()
        await self.activity.close()
        await self.archiving.stop(timeout_s)


def build_services(
    settings: Settings,
    store: Store,
    *,
    place: ServerPlace,
    operator_token: str,
    clock: Clock = system_clock,
    faults: Faults = NO_FAULTS,
) -> Services:
    """Wire the services over an open store. Starts nothing and imports neither FastMCP nor Git's library."""
    activity = Activity(store, clock=clock)
    identity = IdentityService(
        store,
        activity,
        rules=_auth_rules(settings, operator_token),
        enforcement=NameEnforcement(settings.agent_name_enforcement_mode),
        clock=clock,
    )
    identities = _identities(settings)
    projects = ProjectService(store, places=archive_places(settings), identities=identities)
    archiving = ArchivingService(store, archiver_settings(settings, failpoint=faults.archiver), clock=clock)
    messaging = MessagingService(
        store,
        body_max_bytes=settings.message_body_max_bytes,
        note_activity=identity.touch,
        keep_pace=archiving.pace.keep,
        clock=clock,
        desk=_desk(settings),
    )
    search = SearchService(store)
    summaries = SummaryService(store)
    leases = _lease_services(settings, store, identity, activity, clock)
    workers = build_workers(settings, store, clock=clock)
    upkeep = HealthService(
        store, place, clock=clock, archive=archiving, sweep=leases.sweeper.figures, workers=workers.show
    )
    guarding = GuardingService(store, clock=clock)
    services = Services(
        projects=projects,
        identity=identity,
        guard_installation=GuardInstallation(store),
        guarding=guarding,
        guard_spool=SpoolDrain(guarding, settings.storage_root, clock=clock),
        contacts=_contact_service(settings, store, identity, clock),
        messaging=messaging,
        search=search,
        summaries=summaries,
        products=ProductService(store, summaries),
        archiving=archiving,
        upkeep=upkeep,
        activity=activity,
        recording=_recording(settings, store, clock),
        leases=leases,
        workers=workers,
    )
    tables = Tables(store, identities)
    services.tools = tables.tools(_tools(services))
    introspection = IntrospectionService(
        services.recording,
        tools=services.tools.specs(),
        rights=_rights(store),
        locks=_locks(settings, archiving),
        clock=clock,
    )
    services.resources = tables.resources(
        [*_resources(services), *introspection_resources(introspection, identity.caller)]
    )
    return services


def _identities(settings: Settings) -> Identities:
    workspace = WorkspaceIdentities(remote=settings.project_identity_remote)
    return Identities(workspace, IdentityMode(settings.project_identity_mode))


def _lease_services(
    settings: Settings, store: Store, identity: IdentityService, activity: Activity, clock: Clock
) -> LeaseServices:
    workspaces = Workspaces(clock=clock)
    rules = StalenessRules(
        inactivity_s=settings.file_reservation_inactivity_seconds,
        grace_s=settings.file_reservation_activity_grace_seconds,
    )
    staleness = Staleness(activity, workspaces, rules=rules, watched_since=clock())
    sweep = SweepRules(
        releases_idle=settings.file_reservations_cleanup_enabled,
        interval_s=settings.file_reservations_cleanup_interval_seconds,
    )
    return LeaseServices(
        workspaces=workspaces,
        staleness=staleness,
        reservations=ReservationService(store, workspaces, staleness, note_activity=identity.touch, clock=clock),
        sweeper=Sweeper(store, staleness, rules=sweep, clock=clock),
        force=ForceService(store, staleness, note_activity=identity.touch, clock=clock),
        build_slots=BuildSlotService(store, workspaces, note_activity=identity.touch),
    )


def _tools(services: Services) -> list[ToolSpec]:
    """Every tool, in the order in which clients see them."""
    caller = services.identity.caller
    return [
        *upkeep_tools(services.upkeep),
        *archiving_tools(services.archiving, caller),
        *project_tools(services.projects, caller),
        *guard_tools(services.guard_installation, caller),
        *guard_log_tools(services.guarding, caller),
        *identity_tools(services.identity, caller),
        *contact_tools(services.contacts, caller),
        *messaging_tools(services.messaging, caller),
        *reservation_tools(services.leases.reservations, caller),
        *force_tools(services.leases.force, caller),
        *build_slot_tools(services.leases.build_slots, caller),
        *search_tools(services.search, caller),
        *summary_tools(services.summaries, caller),
        *product_tools(services.products, caller),
    ]


def _resources(services: Services) -> list[ResourceSpec]:
    caller = services.identity.caller
    return [
        *upkeep_resources(services.upkeep),
        *project_resources(services.projects, caller),
        *identity_resources(services.identity, caller),
        *messaging_resources(services.messaging, caller),
        *reservation_resources(services.leases.reservations, caller),
        *product_resources(services.products, caller),
    ]


def _recording(settings: Settings, store: Store, clock: Clock) -> Recording:
    usage = Usage(clock=clock)
    interval_s = settings.tool_metrics_emit_interval_seconds
    tool_log = ToolLog(usage, interval_s=interval_s) if settings.tool_metrics_emit_enabled else None
    return Recording(usage=usage, queries=store.queries, tool_log=tool_log)


def _rights(store: Store) -> Rights:
    """What introspection asks of the slices above it."""

    def find_project(key: str) -> Project | None:
        try:
            return store.read(lambda view: require_project(view, key))
        except AgentMailError:
            return None

    return Rights(
        find_project=find_project,
        find_agent=lambda name, project: store.read(lambda view: find_mailbox(view, name, project)),
        require_to_read=require_to_read_project,
    )


def _locks(settings: Settings, archiving: ArchivingService) -> list[KnownLock]:
    store_lock = settings.storage_root / STORE_LOCK
    return [
        KnownLock(path=store_lock, category="store", owner_pid=lambda: _owner_pid(settings.storage_root)),
        KnownLock(
            path=settings.storage_root / ARCHIVE_LOCK,
            category="archive",
            owner_pid=lambda: archiving.archiver_pid,
        ),
    ]


def _owner_pid(storage_root: Path) -> int | None:
    owner = read_owner(storage_root)
    return None if owner is None else owner.pid


def archiver_settings(settings: Settings, *, failpoint: Kill | None = None) -> ArchiverSettings:
    """What the archiver needs of the settings, for the child process and for a drain in process."""
    return ArchiverSettings(
        storage_root=str(settings.storage_root),
        database_path=str(settings.database_path),
        author_name=settings.git_author_name,
        author_email=settings.git_author_email,
        commit_interval_ms=settings.archive_commit_interval_ms,
        in_workspace=settings.archive_location == "workspace",
        max_tracked_files=settings.archive_max_tracked_files,
        failpoint=failpoint,
    )


def _contact_service(settings: Settings, store: Store, identity: IdentityService, clock: Clock) -> ContactService:
    return ContactService(
        store,
        rules=contact_rules(settings),
        enforcement=NameEnforcement(settings.agent_name_enforcement_mode),
        note_activity=identity.touch,
        clock=clock,
    )


def contact_rules(settings: Settings) -> ContactRules:
    return ContactRules(
        enforced=settings.contact_enforcement_enabled,
        scope=AutoScope(settings.contact_auto_scope),
        recent=Micros(settings.contact_auto_ttl_seconds * SECOND),
        hold=settings.messaging_auto_handshake_on_block,
    )


def _desk(settings: Settings) -> Desk:
    return Desk(
        rules=contact_rules(settings),
        respects_leases=settings.file_reservations_enforcement_enabled,
        inbox_limit=settings.quota_inbox_limit_count if settings.quota_enabled else 0,
    )


def archive_places(settings: Settings) -> ArchivePlaces:
    return ArchivePlaces(
        projects_path=settings.storage_root / PROJECTS_FOLDER, in_workspace=settings.archive_location == "workspace"
    )


def _auth_rules(settings: Settings, operator_token: str) -> AuthRules:
    token = settings.http_bearer_token
    return AuthRules(
        auth=AgentAuth(settings.agent_auth),
        server_token=token.reveal() if token else None,
        operator_token=operator_token,
    )
