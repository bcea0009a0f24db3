"""The tools of summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from mcp_agent_mail.core.params import Count, Flag, Matching, Text
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.caller import Caller
from mcp_agent_mail.domain.summaries import parse_thread_ids
from mcp_agent_mail.features.summaries.schemas import thread_object, threads_object
from mcp_agent_mail.features.summaries.service import SummaryService, Wishes

_PROJECT = Text(max_length=1_100)
_MODEL = Text(max_length=128)


def summary_tools(service: SummaryService, current_caller: Callable[[], Caller]) -> list[ToolSpec]:
    async def summarize_thread(
        *,
        project_key: Annotated[str, _PROJECT],
        thread_id: Annotated[str, Matching(parse_thread_ids)],
        include_examples: Annotated[bool, Flag()] = False,
        llm_mode: Annotated[bool, Flag()] = True,
        llm_model: Annotated[str | None, _MODEL] = None,
        per_thread_limit: Annotated[int, Count(1, 1_000)] = 50,
    ) -> Json:
        """What a thread says: decisions, open questions, actions with owner and state, key points, code. Several
        thread ids with commas between them give {threads, aggregate}. Works without an LLM; one refines it if set up.
        """
        wishes = Wishes(include_examples=include_examples, llm_mode=llm_mode, llm_model=llm_model)
        ids = thread_id.split(",")
        threads = await service.summarize_threads(
            current_caller(), project_key, ids, wishes, per_thread_limit=per_thread_limit
        )
        return threads_object(threads) if len(ids) > 1 else thread_object(threads[0])

    return [tool(summarize_thread, cluster="search", title="Summarize threads", read_only=True, idempotent=True)]
