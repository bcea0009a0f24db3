"""Summaries: one use case each, of threads and of what is new."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_agent_mail.domain.caller import Caller
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.summaries import ThreadMail, ThreadSummary, examples_of, summarize
from mcp_agent_mail.features.messaging.visibility import require_to_read_project
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.features.summaries.results import SummarizedThread
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.summaries import read_threads
from mcp_agent_mail.store.view import View

LONG_CHARACTERS = 20_000
"""Up to so much text a thread is read on the event loop: about a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How to summarize: with examples, and with a model's help where the server has one."""

    include_examples: bool = False
    llm_mode: bool = True
    llm_model: str | None = None


class SummaryService:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def summarize_threads(
        self, caller: Caller, project_key: str, thread_ids: Sequence[str], wishes: Wishes, *, per_thread_limit: int
    ) -> list[SummarizedThread]:
        """Each thread's newest `per_thread_limit` messages, of the mail that every agent of the project may read."""

        def readable(view: View) -> Project:
            project = require_project(view, project_key)
            require_to_read_project(caller, project)
            return project

        project = self._store.read(readable)
        threads = await read_threads(self._store, project.id, thread_ids, limit=per_thread_limit)
        return [await self.summarize_mail(thread, wishes) for thread in threads]

    async def summarize_mail(self, thread: ThreadMail, wishes: Wishes) -> SummarizedThread:
        """The same of mail that was read elsewhere: who may see it is the caller's to decide."""
        summary = await _summarized(thread)
        return SummarizedThread(
            thread_id=thread.thread_id,
            summary=summary,
            examples=examples_of(thread.letters) if wishes.include_examples else (),
        )


async def _summarized(thread: ThreadMail) -> ThreadSummary:
    """A long thread is read beside the event loop."""
    if sum(len(letter.body_md) for letter in thread.letters) <= LONG_CHARACTERS:
        return summarize(thread.letters, total=thread.total)
    return await asyncio.to_thread(summarize, thread.letters, total=thread.total)
