"""One function for each group of services: it reads the settings that the group needs and hands over plain values.

None starts anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp_agent_mail.bootstrap.attachments import AttachmentParts
from mcp_agent_mail.bootstrap.doors import door_places, naming_rule
from mcp_agent_mail.bootstrap.services import LeaseServices, Services
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.failpoints import Kill
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.store_owner import LOCK_FILE as STORE_LOCK
from mcp_agent_mail.core.store_owner import read_owner
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import AutoScope, ContactRules
from mcp_agent_mail.domain.doors.mailbox_rules import IdleRules
from mcp_agent_mail.domain.identity.admission import ProjectAdmission
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.domain.project_identity import IdentityMode
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.staleness import StalenessRules
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.archiving.protocol import LOCK_FILE as ARCHIVE_LOCK
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER, ArchiverSettings
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.features.build_slots.service import BuildSlotService
from mcp_agent_mail.features.contacts.consent import DeliveryPolicy
from mcp_agent_mail.features.contacts.service import ContactService
from mcp_agent_mail.features.delivery.evidence import DeliveryEvidence
from mcp_agent_mail.features.delivery.presence import Presences
from mcp_agent_mail.features.delivery.service import DeliveryService
from mcp_agent_mail.features.delivery.subscriptions import Subscriptions
from mcp_agent_mail.features.delivery.waiters import Waiters
from mcp_agent_mail.features.doors.mailbox_service import ActivityPorts, MailboxService
from mcp_agent_mail.features.doors.service import DoorService, DoorServices
from mcp_agent_mail.features.health.results import ServerPlace
from mcp_agent_mail.features.health.service import HealthService
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.identity.admission import NamingRules
from mcp_agent_mail.features.identity.callers import AuthRules
from mcp_agent_mail.features.identity.delivery_hooks import DeliveryHooks
from mcp_agent_mail.features.identity.service import IdentityService
from mcp_agent_mail.features.introspection.locks import KnownLock
from mcp_agent_mail.features.introspection.recording import Recording
from mcp_agent_mail.features.introspection.service import Directory, IntrospectionService
from mcp_agent_mail.features.introspection.tool_log import ToolLog
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.features.macros.service import MacroService, MacroServices
from mcp_agent_mail.features.messaging.contents import MailAttachments
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.features.messaging.visibility import find_mailbox
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.features.reservations.force_release import ForceService
from mcp_agent_mail.features.reservations.service import ReservationService
from mcp_agent_mail.features.reservations.staleness import Staleness
from mcp_agent_mail.features.reservations.sweeper import Sweeper, SweepRules
from mcp_agent_mail.features.summaries.refiner import Refiner
from mcp_agent_mail.features.summaries.service import SummaryService
from mcp_agent_mail.llm.setup import model_of
from mcp_agent_mail.notify.bus import CopyBus, MailBus, RightsBus
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.workers import Workers
from mcp_agent_mail.workspace.facts import Workspaces
from mcp_agent_mail.workspace.identity import WorkspaceIdentities


def identity_service(
    settings: Settings,
    store: Store,
    activity: Activity,
    hooks: DeliveryHooks,
    *,
    operator_token: str,
    clock: Clock,
) -> IdentityService:
    """Over AGENT_AUTH, HTTP_BEARER_TOKEN and the rules of new names. Whoever shows `operator_token` is the operator. To
    `hooks` each call is told with whose it is.
    """
    return IdentityService(
        store,
        activity,
        rules=_auth_rules(settings, operator_token),
        new_names=new_names(settings),
        clock=clock,
        hooks=hooks,
        tells_gone=settings.ack_ttl_enabled,
    )


def new_names(settings: Settings) -> NamingRules:
    """Which names newcomers may take, and who may come in: AGENT_NAME_ENFORCEMENT_MODE and PROJECT_ADMISSION."""
    return NamingRules(
        enforcement=NameEnforcement(settings.agent_name_enforcement_mode),
        admission=ProjectAdmission(settings.project_admission),
    )


def _auth_rules(settings: Settings, operator_token: str) -> AuthRules:
    return AuthRules(
        auth=AgentAuth(settings.agent_auth),
        operator_token=operator_token,
        bearer_must_open=settings.http_bearer_token is not None or settings.http_jwt_enabled,
    )


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


def lease_services(
    settings: Settings, store: Store, identity: IdentityService, activity: Activity, looks: Looks, clock: Clock
) -> LeaseServices:
    """What has to do with leases, over the same workspaces and the same evidence of idleness. Nobody counts as idle for
    what came before this moment: no call was heard then. `identity` is told which agents act.
    """
    workspaces = Workspaces(clock=clock, looks=looks)
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


def health_service(
    store: Store,
    place: ServerPlace,
    archiving: ArchivingService,
    leases: LeaseServices,
    workers: Workers,
    waiters: Waiters,
    *,
    clock: Clock,
) -> HealthService:
    """What tells how the server fares; its `keepers` are set once all services are there."""
    return HealthService(
        store,
        place,
        clock=clock,
        archive=archiving,
        sweep=leases.sweeper.figures,
        workers=workers.show,
        store_size=workers.store_size.figures,
        waiting=waiters.figures,
    )


def macro_service(store: Store, services: Services) -> MacroService:
    """Over the finished services that macros are made of: `services` must have them all, save the macros themselves."""
    parts = MacroServices(
        projects=services.projects,
        identity=services.identity,
        contacts=services.contacts,
        messaging=services.messaging,
        reservations=services.leases.reservations,
        summaries=services.summaries,
    )
    return MacroService(store, parts)


KeepPace = Callable[[], Awaitable[None]]


def messaging_service(
    settings: Settings,
    store: Store,
    identity: IdentityService,
    attachments: AttachmentParts,
    *,
    hooks: DeliveryHooks,
    throttle: KeepPace,
    clock: Clock,
) -> MessagingService:
    """Over the bounds and the delivery policy of the settings. Each send awaits `throttle`, which holds senders back
    while the archive is far behind; `hooks` are those of delivery.
    """
    return MessagingService(
        store,
        body_max_bytes=settings.message_body_max_bytes,
        note_activity=identity.touch,
        throttle=throttle,
        clock=clock,
        delivery=_delivery(settings),
        attachments=MailAttachments(prepare=attachments.service.prepared, contents=attachments.reader),
        hooks=hooks,
    )


def waiters_of(settings: Settings, store: Store, bus: MailBus) -> Waiters:
    """WAITERS_MAX places for those who wait. The bus is asked nothing before the first of them."""

    async def settle() -> None:
        await store.write(lambda _: None)

    return Waiters(bus, RightsBus(store.on_right_change), settle, limit=settings.waiters_max)


def subscriptions_of(store: Store, waiters: Waiters, identity: IdentityService) -> Subscriptions:
    """Of resources; what can be watched is set once the tables are there. The bus is asked nothing before the first."""

    async def settle() -> None:
        await store.write(lambda _: None)

    return Subscriptions(store, CopyBus(store.on_copy_change), waiters, settle, identify=identity.onlooker)


def delivery_hooks(evidence: DeliveryEvidence, presence: Presences, activity: Activity) -> DeliveryHooks:
    """What the slices below delivery tell it, and what they ask it and the activity of agents for."""
    return DeliveryHooks(
        acting=evidence.note_acting,
        handed=evidence.note_handed,
        presence_of=presence.of,
        with_activity=activity.with_activity,
    )


def delivery_service(
    store: Store, waiters: Waiters, identity: IdentityService, hooks: DeliveryHooks, presence: Presences
) -> DeliveryService:
    return DeliveryService(store, waiters, note_activity=identity.touch, note_handed=hooks.handed, presence=presence)


def door_service(
    settings: Settings,
    store: Store,
    identity: IdentityService,
    messaging: MessagingService,
    projects: ProjectService,
    waiters: Waiters,
) -> DoorService:
    """By AGENT_AUTH and PROJECT_ADMISSION. The mail of doors that know no projects is in a project of its own."""
    return DoorService(
        store,
        DoorServices(messaging=messaging, projects=projects, waiters=waiters),
        project_key=settings.facades_project,
        rule=naming_rule(settings),
        note_activity=identity.touch,
        places=door_places(settings),
    )


def mailbox_service(
    settings: Settings,
    store: Store,
    doors: DoorService,
    waiters: Waiters,
    identity: IdentityService,
    activity: Activity,
) -> MailboxService:
    """Of ClaudeMailbox, by CLAUDE_MAILBOX_*_AFTER_MINUTES."""
    rules = IdleRules(
        hide_after_minutes=settings.claude_mailbox_hide_after_minutes,
        retire_after_minutes=settings.claude_mailbox_delete_after_minutes,
    )
    ports = ActivityPorts(note=identity.touch, newest=activity.with_activity)
    return MailboxService(store, doors, waiters, ports, rules=rules)


def contact_service(settings: Settings, store: Store, identity: IdentityService) -> ContactService:
    """By the same rules of consent and of new names as sending and registering: a request may register its target."""
    return ContactService(
        store,
        rules=contact_rules(settings),
        new_names=new_names(settings),
        note_activity=identity.touch,
    )


def contact_rules(settings: Settings) -> ContactRules:
    """When mail needs its recipient's consent, by CONTACT_*, and whether it is held or refused without one, by
    MESSAGING_AUTO_HANDSHAKE_ON_BLOCK. Sends and contacts go by the same rules.
    """
    return ContactRules(
        enforced=settings.contact_enforcement_enabled,
        scope=AutoScope(settings.contact_auto_scope),
        recent=Micros(settings.contact_auto_ttl_seconds * SECOND),
        hold=settings.messaging_auto_handshake_on_block,
    )


def _delivery(settings: Settings) -> DeliveryPolicy:
    return DeliveryPolicy(
        rules=contact_rules(settings),
        respects_leases=settings.file_reservations_enforcement_enabled,
        inbox_limit=settings.quota_inbox_limit_count if settings.quota_enabled else 0,
        attachments_limit_bytes=settings.quota_attachments_limit_bytes if settings.quota_enabled else 0,
    )


def project_identities(settings: Settings, looks: Looks) -> Identities:
    workspace = WorkspaceIdentities(remote=settings.project_identity_remote)
    return Identities(workspace, IdentityMode(settings.project_identity_mode), looks=looks)


def project_service(settings: Settings, store: Store, places: ArchivePlaces, identities: Identities) -> ProjectService:
    """Senders learn of readers whose project is archived where they learn of late acknowledgements."""
    return ProjectService(store, places=places, identities=identities, tells_gone=settings.ack_ttl_enabled)


def archive_places(settings: Settings) -> ArchivePlaces:
    return ArchivePlaces(
        projects_path=settings.storage_root / PROJECTS_FOLDER, in_workspace=settings.archive_location == "workspace"
    )


def summary_service(settings: Settings, store: Store, clock: Clock) -> SummaryService:
    budget = settings.llm_daily_budget_usd
    refiner = Refiner(store, model=model_of(settings), daily_budget_usd=budget, clock=clock)
    return SummaryService(store, refiner=refiner, clock=clock)


def recording(settings: Settings, store: Store, clock: Clock) -> Recording:
    """What is counted of calls, and of queries where the store counts them. It is logged only with
    TOOL_METRICS_EMIT_ENABLED.
    """
    usage = Usage(clock=clock)
    interval_s = settings.tool_metrics_emit_interval_seconds
    tool_log = ToolLog(usage, interval_s=interval_s) if settings.tool_metrics_emit_enabled else None
    return Recording(usage=usage, queries=store.queries, tool_log=tool_log)


def introspection_service(settings: Settings, store: Store, services: Services, clock: Clock) -> IntrospectionService:
    """The service that tells of the server itself, over the finished table of tools."""
    return IntrospectionService(
        services.recording,
        tools=services.tools.specs(),
        directory=_directory(store),
        locks=_locks(settings, services.archiving),
        clock=clock,
    )


def _directory(store: Store) -> Directory:
    """What introspection asks of the slices above it."""

    async def find_project(key: str | ProjectId) -> Project | None:
        try:
            if isinstance(key, int):
                return await store.read(lambda view: view.projects.find(key))
            return await store.read(lambda view: require_project(view, key))
        except AgentMailError:
            return None

    async def find_agent(name: str, project: str | None) -> tuple[Agent, Project]:
        return await store.read(lambda view: find_mailbox(view, name, project))

    return Directory(find_project=find_project, find_agent=find_agent)


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
