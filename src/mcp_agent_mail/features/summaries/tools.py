"""The tools of summaries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import LIMIT, PROJECT_KEY, Amount, Count, Flag, Matching
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.summaries.digests import MAX_HOURS
from mcp_agent_mail.domain.summaries.extract import parse_thread_ids
from mcp_agent_mail.domain.summaries.refinement import parse_model
from mcp_agent_mail.features.summaries.joined_texts import JoinedTexts
from mcp_agent_mail.features.summaries.schemas import show_digest, show_recent_summary, show_thread_summaries
from mcp_agent_mail.features.summaries.service import DigestOptions, RecentRequest, SummaryService
from mcp_agent_mail.features.summaries.shapes import show_thread_summary

_MODEL = Matching(parse_model)


def summary_tools(service: SummaryService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To summarize threads and recent mail, and to fetch stored digests. The first two may ask a model, and take a turn
    of the long calls.
    """

    async def summarize_thread(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        thread_id: Annotated[str, JoinedTexts(parse_thread_ids)],
        include_examples: Annotated[bool, Flag()] = False,
        llm_mode: Annotated[bool, Flag()] = True,
        llm_model: Annotated[str | None, _MODEL] = None,
        per_thread_limit: Annotated[int, LIMIT] = 50,
    ) -> Json:
        """What a thread says: decisions, open questions, actions with owner and state, key points, code. Several
        thread ids with commas between them give {threads, aggregate}. Works without an LLM; one refines it if set up.
        """
        wishes = DigestOptions(include_examples=include_examples, llm_mode=llm_mode, llm_model=llm_model)
        ids = thread_id.split(",")
        threads = await service.summarize_threads(
            await current_caller(), project_key, ids, wishes, per_thread_limit=per_thread_limit
        )
        return show_thread_summaries(threads) if len(ids) > 1 else show_thread_summary(threads[0])

    async def summarize_recent(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        since_hours: Annotated[float, Amount(MAX_HOURS)] = 1.0,
        llm_mode: Annotated[bool, Flag()] = True,
        llm_model: Annotated[str | None, _MODEL] = None,
        max_messages: Annotated[int, Count(1, 500)] = 500,
    ) -> Json:
        """Digest of a project's newest mail, all threads together; summary_text is JSON like summarize_thread's
        summary. Stored; while nothing newer came, the stored one (cached).
        """
        wishes = DigestOptions(llm_mode=llm_mode, llm_model=llm_model)
        request = RecentRequest(
            project_key=project_key, since_hours=since_hours, max_messages=max_messages, wishes=wishes
        )
        return show_recent_summary(await service.summarize_recent(await current_caller(), request))

    async def fetch_summary(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        since_hours: Annotated[float, Amount(MAX_HOURS)] = 24.0,
        limit: Annotated[int, LIMIT] = 5,
    ) -> Json:
        """Digests that summarize_recent stored in the last hours, newest first."""
        digests = await service.fetch(await current_caller(), project_key, since_hours=since_hours, limit=limit)
        return [show_digest(digest) for digest in digests]

    return [
        tool(
            summarize_thread, cluster="search", title="Summarize threads", is_long=True, read_only=True, idempotent=True
        ),
        tool(summarize_recent, cluster="search", title="Summarize recent mail", is_long=True),
        tool(fetch_summary, cluster="search", title="Fetch digests", read_only=True, idempotent=True, result_list=True),
    ]
