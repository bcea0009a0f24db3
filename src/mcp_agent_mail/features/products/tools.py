"""The product tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.params import CALLER_NAME, LIMIT, MODEL, PROJECT_KEY, Flag, Matching, Text, Time
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.threads import parse_thread_id
from mcp_agent_mail.features.products import schemas
from mcp_agent_mail.features.products.inbox import ProductInboxRequest
from mcp_agent_mail.features.products.parameters import PRODUCT_KEY
from mcp_agent_mail.features.products.service import ProductService
from mcp_agent_mail.features.summaries.service import DigestOptions
from mcp_agent_mail.features.summaries.shapes import show_thread_summary

_THREAD_LIMIT = 50


def product_tools(service: ProductService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To make and link products, read and search their mail, and summarize it, in the order that clients see."""
    return [
        *_making_tools(service, current_caller),
        *_reading_tools(service, current_caller),
        *_summary_tools(service, current_caller),
    ]


def _making_tools(service: ProductService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def ensure_product(
        product_key: Annotated[str | None, PRODUCT_KEY] = None,
        name: Annotated[str | None, PRODUCT_KEY] = None,
    ) -> Json:
        """Create a product (several projects that make one thing), or return it, by name or uid (8-64 hex digits)."""
        await current_caller()
        return schemas.show_product(await service.ensure(product_key, name))

    async def products_link(product_key: Annotated[str, PRODUCT_KEY], project_key: Annotated[str, PROJECT_KEY]) -> Json:
        """Make a project part of a product: agents of its projects may then read each other's mail."""
        return schemas.show_linked(await service.link(await current_caller(), product_key, project_key))

    return [
        tool(ensure_product, cluster="product_bus", title="Create or find a product", idempotent=True),
        tool(products_link, cluster="product_bus", title="Link a project to a product", idempotent=True),
    ]


def _reading_tools(service: ProductService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def search_messages_product(
        product_key: Annotated[str, PRODUCT_KEY],
        query: Annotated[str, Text(max_length=1_000, may_be_blank=True)],
        limit: Annotated[int, LIMIT] = 20,
    ) -> Json:
        """search_messages over all projects of a product; each hit names its project."""
        return schemas.show_product_hits(await service.search(await current_caller(), product_key, query, limit))

    async def fetch_inbox_product(
        product_key: Annotated[str, PRODUCT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        limit: Annotated[int, LIMIT] = 20,
        urgent_only: Annotated[bool, Flag()] = False,
        include_bodies: Annotated[bool, Flag()] = False,
        since_ts: Annotated[Micros | None, Time()] = None,
    ) -> Json:
        """fetch_inbox of your namesakes in all projects of a product, newest first; each item names its project."""
        request = ProductInboxRequest(
            product_key=product_key,
            agent_name=agent_name,
            limit=limit,
            urgent_only=urgent_only,
            include_bodies=include_bodies,
            since=since_ts,
        )
        return schemas.show_product_inbox(await service.inbox(await current_caller(), request))

    return [
        tool(
            search_messages_product,
            cluster="product_bus",
            title="Search a product's mail",
            read_only=True,
            idempotent=True,
        ),
        tool(
            fetch_inbox_product,
            cluster="product_bus",
            title="Read a product's inbox",
            read_only=True,
            idempotent=True,
            result_list=True,
        ),
    ]


def _summary_tools(service: ProductService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def summarize_thread_product(
        product_key: Annotated[str, PRODUCT_KEY],
        thread_id: Annotated[str, Matching(parse_thread_id)],
        include_examples: Annotated[bool, Flag()] = False,
        llm_mode: Annotated[bool, Flag()] = True,
        llm_model: Annotated[str | None, MODEL] = None,
        per_thread_limit: Annotated[int | None, LIMIT] = None,
    ) -> Json:
        """summarize_thread over all projects of a product."""
        wishes = DigestOptions(include_examples=include_examples, llm_mode=llm_mode, llm_model=llm_model)
        limit = _THREAD_LIMIT if per_thread_limit is None else per_thread_limit
        return show_thread_summary(
            await service.summarize_thread(await current_caller(), product_key, thread_id, wishes, limit=limit)
        )

    return [
        tool(
            summarize_thread_product,
            cluster="product_bus",
            title="Summarize a product's thread",
            is_long=True,
            read_only=True,
            idempotent=True,
        )
    ]
