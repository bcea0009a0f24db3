"""Guidance: search and summaries, products."""

from __future__ import annotations

from mcp_agent_mail.features.introspection.guidance import Cluster, Guidance

_HERE = {"project_key": "/code/app"}
_ALL = {"product_key": "storefront"}

SEARCH = Cluster(
    purpose="Finding mail, and short versions of long threads.",
    tools={
        "search_messages": Guidance(
            use_when="You look for mail by its words.",
            related=("fetch_topic", "summarize_thread"),
            frequency="often",
            examples={
                "Words": {**_HERE, "query": "parser plan"},
                "A phrase in the subject, newest first": {
                    **_HERE,
                    "query": 'subject:"release notes"',
                    "order": "newest",
                },
            },
        ),
        "summarize_thread": Guidance(
            use_when="You join a thread that is longer than you want to read.",
            related=("macro_prepare_thread", "summarize_recent"),
            frequency="often",
            examples={"One thread": {**_HERE, "thread_id": "plan-1"}},
        ),
        "summarize_recent": Guidance(
            use_when="You want to know what happened in the last hours.",
            related=("fetch_summary",),
            frequency="per session",
            examples={"The last four hours": {**_HERE, "since_hours": 4}},
        ),
        "fetch_summary": Guidance(
            use_when="You want digests that were made already.",
            related=("summarize_recent",),
            frequency="per session",
            examples={"Of the last day": _HERE},
        ),
    },
)

PRODUCT_BUS = Cluster(
    purpose="Several projects under one product: search, inbox and summaries across them.",
    tools={
        "ensure_product": Guidance(
            use_when="Several repositories make one thing.",
            related=("products_link",),
            frequency="once",
            examples={"By name": {"name": "storefront"}},
        ),
        "products_link": Guidance(
            use_when="A project belongs to a product.",
            related=("ensure_product",),
            frequency="once",
            examples={"Link": {**_ALL, **_HERE}},
        ),
        "search_messages_product": Guidance(
            use_when="You do not know in which of the projects it was said.",
            related=("search_messages",),
            frequency="often",
            examples={"Words": {**_ALL, "query": "checkout"}},
        ),
        "fetch_inbox_product": Guidance(
            use_when="You work under one name in several projects of a product.",
            related=("fetch_inbox",),
            frequency="often",
            examples={"All of it": {**_ALL, "agent_name": "BlueLake"}},
        ),
        "summarize_thread_product": Guidance(
            use_when="A thread runs through several projects.",
            related=("summarize_thread",),
            frequency="often",
            examples={"One thread": {**_ALL, "thread_id": "plan-1"}},
        ),
    },
)
