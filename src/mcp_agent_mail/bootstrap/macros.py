"""The macros, of the services they call."""

from __future__ import annotations

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.features.macros.service import MacroService, Parts
from mcp_agent_mail.store.database import Store


def macro_service(store: Store, services: Services) -> MacroService:
    parts = Parts(
        projects=services.projects,
        identity=services.identity,
        contacts=services.contacts,
        messaging=services.messaging,
        reservations=services.leases.reservations,
        summaries=services.summaries,
    )
    return MacroService(store, parts)
