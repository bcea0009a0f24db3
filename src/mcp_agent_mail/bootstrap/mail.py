"""Mail and who may send it to whom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mcp_agent_mail.bootstrap.wiring import new_names
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.contacts import AutoScope, ContactRules
from mcp_agent_mail.features.contacts.consent import Desk
from mcp_agent_mail.features.contacts.service import ContactService
from mcp_agent_mail.features.identity.service import IdentityService
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.store.database import Store

KeepPace = Callable[[], Awaitable[None]]


def messaging_service(
    settings: Settings, store: Store, identity: IdentityService, *, keep_pace: KeepPace, clock: Clock
) -> MessagingService:
    return MessagingService(
        store,
        body_max_bytes=settings.message_body_max_bytes,
        note_activity=identity.touch,
        keep_pace=keep_pace,
        clock=clock,
        desk=_desk(settings),
    )


def contact_service(settings: Settings, store: Store, identity: IdentityService, clock: Clock) -> ContactService:
    return ContactService(
        store,
        rules=contact_rules(settings),
        new_names=new_names(settings),
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
