"""Leases: file reservations, build slots and what works with both."""

from __future__ import annotations

from mcp_agent_mail.bootstrap.services import LeaseServices
from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.staleness import StalenessRules
from mcp_agent_mail.features.build_slots.service import BuildSlotService
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.identity.service import IdentityService
from mcp_agent_mail.features.reservations.force_release import ForceService
from mcp_agent_mail.features.reservations.service import ReservationService
from mcp_agent_mail.features.reservations.staleness import Staleness
from mcp_agent_mail.features.reservations.sweeper import Sweeper, SweepRules
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.workspace.facts import Workspaces


def lease_services(
    settings: Settings, store: Store, identity: IdentityService, activity: Activity, looks: Looks, clock: Clock
) -> LeaseServices:
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
