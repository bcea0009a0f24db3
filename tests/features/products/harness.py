"""A product of two projects over a real store, with the tools of identity, mail and products wired as the server does.

The projects are those of `tests.seeded_store`: `app` has BlueLake, RedStone and GreenField, `lib` has QuietFox and
another BlueLake. A third one, `far`, has BlueLake too and is part of nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import ContactRules
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.backpressure import Backpressure
from mcp_agent_mail.features.contacts.consent import DeliveryPolicy
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.identity.admission import NamingRules
from mcp_agent_mail.features.identity.callers import AuthRules
from mcp_agent_mail.features.identity.service import IdentityService
from mcp_agent_mail.features.identity.tools import identity_tools
from mcp_agent_mail.features.messaging.resources import messaging_resources
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.features.messaging.tools import messaging_tools
from mcp_agent_mail.features.products.resources import product_resources
from mcp_agent_mail.features.products.service import ProductService
from mcp_agent_mail.features.products.tools import product_tools
from mcp_agent_mail.features.search.service import SearchService
from mcp_agent_mail.features.search.tools import search_tools
from mcp_agent_mail.features.summaries.service import SummaryService
from tests.seeded_store import SeededStore, add_agent, add_project, open_seeded_store, token_of

APP = "/code/app"
LIB = "/code/lib"
FAR = "/code/far"
NOBODY = Credentials(via="mcp")
OPERATOR = Credentials(via="rpc", bearer_token="amo_operator")


@dataclass
class ProductsHarness:
    seeded: SeededStore
    far: Project
    far_blue: Agent
    tools: ToolTable
    resources: ResourceTable

    def proof(self, agent: Agent) -> Credentials:
        home = self.far if agent.project_id == self.far.id else self.seeded.project_of(agent)
        return Credentials(via="mcp", agent_token=token_of(agent.name, home))

    async def call(self, tool: str, by: Credentials = NOBODY, /, **arguments: Any) -> Any:
        return await self.tools.run(tool, arguments, by)

    async def read(self, uri: str, by: Credentials = NOBODY) -> Any:
        return await self.resources.read(f"resource://{uri}", by)

    async def link(self, *projects: str, product: str = "storefront") -> None:
        for project in projects:
            await self.call("products_link", OPERATOR, product_key=product, project_key=project)

    async def send(self, project: str, sender: str, to: list[str], subject: str, **more: Any) -> int:
        """A second after the one before, by the operator, who may act as anybody."""
        self.seeded.clock.step()
        given = {"project_key": project, "sender_name": sender, "to": to, "subject": subject, "body_md": "text", **more}
        sent = await self.call("send_message", OPERATOR, **given)
        return int(sent["deliveries"][0]["payload"]["id"])

    async def inbox(self, by: Credentials = NOBODY, /, agent: str = "BlueLake", **more: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self.call(
            "fetch_inbox_product", by, product_key="storefront", agent_name=agent, **more
        )
        return found

    async def found(self, query: str, by: Credentials = NOBODY, /, **more: Any) -> list[dict[str, Any]]:
        answer = await self.call("search_messages_product", by, product_key="storefront", query=query, **more)
        hits: list[dict[str, Any]] = answer["result"]
        return hits

    def rows(self, sql: str, *values: object) -> list[Any]:
        return self.seeded.store._reading.execute(sql, values).fetchall()


@asynccontextmanager
async def open_products(folder: Path, *, auth: AgentAuth = AgentAuth.OPEN) -> AsyncIterator[ProductsHarness]:
    """The product `storefront` exists, and has no projects yet."""
    async with (
        open_seeded_store(folder) as seeded,
        Activity(seeded.store, clock=seeded.clock, interval_s=600) as activity,
    ):
        far = await seeded.store.write(lambda tx: add_project(tx, FAR))
        far_blue = await seeded.store.write(lambda tx: add_agent(tx, far, "BlueLake"))
        identity = IdentityService(
            seeded.store,
            activity,
            rules=AuthRules(auth=auth, operator_token="amo_operator"),
            new_names=NamingRules(enforcement=NameEnforcement.FREE),
            clock=seeded.clock,
        )
        messaging = MessagingService(
            seeded.store,
            body_max_bytes=1_000_000,
            note_activity=identity.touch,
            throttle=Backpressure().keep,
            clock=seeded.clock,
            delivery=DeliveryPolicy(rules=ContactRules(enforced=False)),
        )
        products = ProductService(seeded.store, SummaryService(seeded.store))
        harness = ProductsHarness(
            seeded,
            far,
            far_blue,
            ToolTable(
                [
                    *messaging_tools(messaging, identity.caller),
                    *search_tools(SearchService(seeded.store), identity.caller),
                    *product_tools(products, identity.caller),
                    *identity_tools(identity, identity.caller),
                ]
            ),
            ResourceTable(
                [*messaging_resources(messaging, identity.caller), *product_resources(products, identity.caller)]
            ),
        )
        await harness.call("ensure_product", name="storefront")
        yield harness
