"""Every tool and every resource, in the order in which clients see them."""

from __future__ import annotations

from mcp_agent_mail.bootstrap.custom_calls import custom_specs
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.resources import ResourceSpec, ResourceTable
from mcp_agent_mail.core.tools import ToolSpec, ToolTable
from mcp_agent_mail.features.archiving.tools import archiving_tools
from mcp_agent_mail.features.build_slots.tools import build_slot_tools
from mcp_agent_mail.features.contacts.tools import contact_tools
from mcp_agent_mail.features.delivery.tools import delivery_tools, following, hook_tools
from mcp_agent_mail.features.delivery.watched_resources import watchable_resources
from mcp_agent_mail.features.doors.tools import door_tools
from mcp_agent_mail.features.guarding.log_tools import guard_log_tools
from mcp_agent_mail.features.guarding.tools import guard_tools
from mcp_agent_mail.features.health.resources import health_resources
from mcp_agent_mail.features.health.tools import health_tools
from mcp_agent_mail.features.identity.connection import ConnectionIdentity, ConnectionTools
from mcp_agent_mail.features.identity.join_code_tools import join_code_tools
from mcp_agent_mail.features.identity.resources import identity_resources
from mcp_agent_mail.features.identity.tools import identity_tools
from mcp_agent_mail.features.identity.window_tools import window_tools
from mcp_agent_mail.features.importing.tools import importing_tools
from mcp_agent_mail.features.introspection.resources import introspection_resources
from mcp_agent_mail.features.introspection.service import IntrospectionService
from mcp_agent_mail.features.issued_tokens.tools import issued_token_tools
from mcp_agent_mail.features.macros.tools import macro_tools
from mcp_agent_mail.features.messaging.owed_ack_tools import owed_ack_tools
from mcp_agent_mail.features.messaging.resources import messaging_resources
from mcp_agent_mail.features.messaging.tools import messaging_tools
from mcp_agent_mail.features.products.resources import product_resources
from mcp_agent_mail.features.products.tools import product_tools
from mcp_agent_mail.features.projects.path_resolution import ResolvingTables
from mcp_agent_mail.features.projects.resources import project_resources
from mcp_agent_mail.features.projects.tools import project_tools
from mcp_agent_mail.features.reservations.resources import reservation_resources
from mcp_agent_mail.features.reservations.tools import force_tools, reservation_tools
from mcp_agent_mail.features.retention.tools import retention_tools
from mcp_agent_mail.features.search.tools import search_tools
from mcp_agent_mail.features.summaries.tools import summary_tools
from mcp_agent_mail.features.web_sessions.tools import web_session_tools
from mcp_agent_mail.store.database import Store


def tool_table(services: Services, tables: ResolvingTables) -> ToolTable:
    connection = ConnectionIdentity(services.identity, tables.resolver.run)
    return ConnectionTools(tables.tools(_tools(services)), connection)


def stream_table(services: Services, tables: ResolvingTables) -> ToolTable:
    """What opens streams: by the rules of calls, and no tool that anybody lists."""
    connection = ConnectionIdentity(services.identity, tables.resolver.run)
    return ConnectionTools(tables.tools(following(services.delivery, services.identity.caller)), connection)


def resource_table(services: Services, tables: ResolvingTables, introspection: IntrospectionService) -> ResourceTable:
    ours = introspection_resources(introspection, services.identity.caller)
    return tables.resources([*_resources(services), *ours])


def watch_table(store: Store, services: Services, tables: ResolvingTables) -> ResourceTable:
    """What can be subscribed to, by the same URIs. Nobody is active by being told."""
    return tables.resources(watchable_resources(_resources(services), store, services.identity.onlooker))


def _tools(services: Services) -> list[ToolSpec]:
    """Every tool, in the order in which clients see them."""
    caller = services.identity.caller
    return [
        *health_tools(services.health, caller),
        *archiving_tools(services.archiving, caller),
        *importing_tools(services.importing, caller),
        *project_tools(services.projects, caller),
        *guard_tools(services.guard_installation, caller),
        *guard_log_tools(services.guarding, caller),
        *identity_tools(services.identity, caller),
        *join_code_tools(services.join_codes, caller),
        *issued_token_tools(services.issued_tokens, caller),
        *web_session_tools(services.pages.sessions, caller),
        *window_tools(services.windows, caller),
        *contact_tools(services.contacts, caller),
        *messaging_tools(services.messaging, caller),
        *owed_ack_tools(services.workers.reminders, caller),
        *delivery_tools(services.delivery, caller),
        *hook_tools(services.delivery, caller),
        *door_tools(services.doors, caller),
        *retention_tools(services.workers.retention, caller),
        *reservation_tools(services.leases.reservations, caller),
        *force_tools(services.leases.force, caller),
        *build_slot_tools(services.leases.build_slots, caller),
        *search_tools(services.search, caller),
        *summary_tools(services.summaries, caller),
        *product_tools(services.products, caller),
        *macro_tools(services.macros, caller),
        *custom_specs(services.custom, services.identity),
    ]


def _resources(services: Services) -> list[ResourceSpec]:
    caller = services.identity.caller
    return [
        *health_resources(services.health),
        *project_resources(services.projects, caller),
        *identity_resources(services.identity, caller),
        *messaging_resources(services.messaging, caller),
        *reservation_resources(services.leases.reservations, caller),
        *product_resources(services.products, caller),
    ]
