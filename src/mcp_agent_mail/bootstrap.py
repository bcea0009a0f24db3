"""The one place where services are made and given to each other."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.clock import Clock, system_clock
from mcp_agent_mail.core.failpoints import NO_FAULTS, Faults, Kill
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.settings import Settings
from mcp_agent_mail.core.tools import ToolTable
from mcp_agent_mail.domain.caller import AgentAuth
from mcp_agent_mail.domain.names import NameEnforcement
from mcp_agent_mail.features.archiving.launch import PROJECTS_FOLDER, ArchiverSettings
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.features.archiving.tools import archiving_tools
from mcp_agent_mail.features.guarding.installing import GuardInstallation
from mcp_agent_mail.features.guarding.tools import guard_tools
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.identity.callers import AuthRules
from mcp_agent_mail.features.identity.resources import identity_resources
from mcp_agent_mail.features.identity.service import IdentityService
from mcp_agent_mail.features.identity.tools import identity_tools
from mcp_agent_mail.features.messaging.resources import messaging_resources
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.features.messaging.tools import messaging_tools
from mcp_agent_mail.features.projects.resources import project_resources
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.features.projects.tools import project_tools
from mcp_agent_mail.features.search.service import SearchService
from mcp_agent_mail.features.search.tools import search_tools
from mcp_agent_mail.features.upkeep.resources import upkeep_resources
from mcp_agent_mail.features.upkeep.results import ServerPlace
from mcp_agent_mail.features.upkeep.service import HealthService
from mcp_agent_mail.features.upkeep.tools import upkeep_tools
from mcp_agent_mail.store.database import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything a server, or a command in its place, works with. `close` comes before the store's."""

    projects: ProjectService
    identity: IdentityService
    messaging: MessagingService
    search: SearchService
    archiving: ArchivingService
    upkeep: HealthService
    activity: Activity
    tools: ToolTable
    resources: ResourceTable

    def start(self) -> None:
        """Start what works beside the requests: the archiver. Commands without a server leave it out."""
        self.archiving.start()

    async def close(self, *, timeout_s: float) -> None:
        """Write what is only in memory, then let the archiver commit what is pending for at most `timeout_s`."""
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
    projects = ProjectService(store, places=archive_places(settings))
    archiving = ArchivingService(store, archiver_settings(settings, failpoint=faults.archiver), clock=clock)
    messaging = MessagingService(
        store,
        body_max_bytes=settings.message_body_max_bytes,
        note_activity=identity.touch,
        keep_pace=archiving.pace.keep,
        clock=clock,
    )
    search = SearchService(store)
    upkeep = HealthService(store, place, clock=clock, archive=archiving)
    return Services(
        projects=projects,
        identity=identity,
        messaging=messaging,
        search=search,
        archiving=archiving,
        upkeep=upkeep,
        activity=activity,
        tools=ToolTable(
            [
                *upkeep_tools(upkeep),
                *archiving_tools(archiving, identity.caller),
                *project_tools(projects, identity.caller),
                *guard_tools(GuardInstallation(store), identity.caller),
                *identity_tools(identity, identity.caller),
                *messaging_tools(messaging, identity.caller),
                *search_tools(search, identity.caller),
            ]
        ),
        resources=ResourceTable(
            [
                *upkeep_resources(upkeep),
                *project_resources(projects, identity.caller),
                *identity_resources(identity, identity.caller),
                *messaging_resources(messaging, identity.caller),
            ]
        ),
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
