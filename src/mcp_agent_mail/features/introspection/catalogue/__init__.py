"""The guidance of every tool by cluster, in the order in which the directory shows them."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_agent_mail.features.introspection.catalogue.coordination import BUILD_SLOTS, CONTACT, FILE_RESERVATIONS
from mcp_agent_mail.features.introspection.catalogue.finding import PRODUCT_BUS, SEARCH
from mcp_agent_mail.features.introspection.catalogue.foundation import IDENTITY, INFRASTRUCTURE
from mcp_agent_mail.features.introspection.catalogue.mail import DELIVERY, MESSAGING
from mcp_agent_mail.features.introspection.catalogue.workflows import WORKFLOW_MACROS
from mcp_agent_mail.features.introspection.guidance import Cluster

CLUSTERS: Mapping[str, Cluster] = {
    "infrastructure": INFRASTRUCTURE,
    "identity": IDENTITY,
    "messaging": MESSAGING,
    "delivery": DELIVERY,
    "contact": CONTACT,
    "file_reservations": FILE_RESERVATIONS,
    "search": SEARCH,
    "workflow_macros": WORKFLOW_MACROS,
    "build_slots": BUILD_SLOTS,
    "product_bus": PRODUCT_BUS,
}
