"""Products by URI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.resources import ResourceSpec, resource
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.products.parameters import PRODUCT_KEY
from mcp_agent_mail.features.products.schemas import show_seen_product
from mcp_agent_mail.features.products.service import ProductService


def product_resources(service: ProductService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ResourceSpec]:
    """A product with its projects, for anybody who knows its name or uid; a caller whose token is wrong is refused all
    the same.
    """

    async def product(key: Annotated[str, PRODUCT_KEY]) -> Json:
        """A product, by name or uid, with its projects, oldest first."""
        caller = await current_caller()
        return show_seen_product(await service.look(key, caller))

    return [resource(product, uri="resource://product/{key}", name="product", title="A product and its projects")]
