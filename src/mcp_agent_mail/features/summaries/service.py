"""Summaries: of threads, and of what came lately."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from mcp_agent_mail.core.clock import Clock, Micros, system_clock
from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.concurrency.turns import TurnBounds, Turns
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import current_turn
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.names import KnownNames
from mcp_agent_mail.domain.identity.readership import READING_MAIL, require_to_read
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.summaries.digests import Digest, NewDigest, span_of
from mcp_agent_mail.domain.summaries.extract import ThreadMail, ThreadMessage, ThreadSummary, examples_of, summarize
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.features.summaries.refiner import Refiner
from mcp_agent_mail.features.summaries.results import SummarizedMail, SummarizedThread
from mcp_agent_mail.features.summaries.shapes import show_summary
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.summaries import RecentMail, read_recent, read_threads
from mcp_agent_mail.store.transaction import Tx, View

LONG_CHARACTERS = 20_000
"""Up to so much text is summarized on the event loop; it takes about ten milliseconds."""
MAX_NAMED_THREADS = 100
TURNS = TurnBounds(places=2, places_each=1, waiting_each=16, waiting=128, within_s=20.0)
"""Of summaries made beside the event loop, whichever tool asks for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestOptions:
    """How to summarize: with examples, and with a model's help where the server has one."""

    include_examples: bool = False
    llm_mode: bool = True
    llm_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentRequest:
    project_key: str
    since_hours: float
    max_messages: int
    wishes: DigestOptions


class SummaryService:
    def __init__(self, store: Store, *, refiner: Refiner | None = None, clock: Clock = system_clock) -> None:
        self._store = store
        self._refiner = refiner or Refiner(store, model=None, daily_budget_usd=0, clock=clock)
        self._clock = clock
        self._turns = Turns("summaries of much text", TURNS)

    async def summarize_threads(
        self,
        caller: Caller,
        project_key: str,
        thread_ids: Sequence[str],
        wishes: DigestOptions,
        *,
        per_thread_limit: int,
    ) -> list[SummarizedThread]:
        """Each thread's newest `per_thread_limit` messages, of the mail that every agent of the project may read."""
        project = await self._store.read(lambda view: _readable(view, caller, project_key))
        threads = await read_threads(self._store, project.id, thread_ids, limit=per_thread_limit)
        # One after the other: a call computes on one thread. A model is asked for all of them at once.
        summaries = [await self._summarized(thread.messages, thread.total) for thread in threads]
        refining = (self._refined(thread, summary, wishes) for thread, summary in zip(threads, summaries, strict=True))
        found = await asyncio.gather(*refining)
        return (
            list(found) if all(one.summary.total_messages for one in found) else await self._with_near(project, found)
        )

    async def _with_near(self, project: Project, found: Sequence[SummarizedThread]) -> list[SummarizedThread]:
        """Those without mail with the threads that may have been meant."""
        known = KnownNames(await self._store.read(lambda view: view.messages.recent_threads(project.id)))
        return [one if one.summary.total_messages else replace(one, near=known.nearest(one.thread_id)) for one in found]

    async def summarize_mail(self, thread: ThreadMail, wishes: DigestOptions) -> SummarizedThread:
        """A summary of mail that was read elsewhere: who may see it is the caller's to decide."""
        return await self._refined(thread, await self._summarized(thread.messages, thread.total), wishes)

    async def _refined(self, thread: ThreadMail, summary: ThreadSummary, wishes: DigestOptions) -> SummarizedThread:
        model = self._refiner.model_for(wishes.llm_model, llm_mode=wishes.llm_mode)
        result = await self._refiner.refine(summary, thread.messages, model)
        return SummarizedThread(
            thread_id=thread.thread_id,
            summary=result.summary,
            examples=examples_of(thread.messages) if wishes.include_examples else (),
            llm_error=result.error,
        )

    async def summarize_recent(self, caller: Caller, request: RecentRequest) -> SummarizedMail:
        """A digest of the mail of the last hours, stored; the stored one while nothing newer came."""
        project = await self._store.read(lambda view: require_writable(_readable(view, caller, request.project_key)))
        span = span_of(request.since_hours)
        now = self._clock()
        since = Micros(max(0, now - span))
        recent = await read_recent(self._store, project.id, since, limit=request.max_messages)
        if recent is None:
            return SummarizedMail(digest=_empty(since, now), cached=False)
        model = self._refiner.model_for(request.wishes.llm_model, llm_mode=request.wishes.llm_mode)
        wanted = NewDigest(
            project_id=project.id,
            newest=recent.newest,
            span=span,
            max_messages=request.max_messages,
            summary_text="",
            start_ts=since,
            end_ts=now,
            source_message_count=len(recent.messages),
            source_thread_ids=_threads_of(recent),
            llm_model=model,
            cost_usd=0.0,
        )
        known = await self._store.read(lambda view: view.digests.find(wanted))
        if known is not None:
            return SummarizedMail(digest=known, cached=True)
        return await self._store_digest(wanted, recent)

    async def _store_digest(self, wanted: NewDigest, recent: RecentMail) -> SummarizedMail:
        summary = await self._summarized(recent.messages, None)
        result = await self._refiner.refine(summary, recent.messages, wanted.llm_model)
        text = json.dumps(show_summary(result.summary), ensure_ascii=False, separators=(",", ":"))
        new = _with(wanted, text, None if result.model is None else wanted.llm_model, result.cost_usd)

        def add(tx: Tx) -> tuple[Digest, bool]:
            """Where the model failed, the digest that the rules made before is the same."""
            known = tx.digests.find(new)
            if known is not None:
                return known, True
            tx.require_room()
            return tx.digests.add(new, tx.now), False

        digest, known = await self._store.write(add)
        return SummarizedMail(digest=digest, cached=known, llm_error=result.error)

    async def fetch(self, caller: Caller, project_key: str, *, since_hours: float, limit: int) -> list[Digest]:
        """Digests stored within the last hours, newest first."""

        def stored(view: View) -> list[Digest]:
            project = _readable(view, caller, project_key)
            since = Micros(self._clock() - span_of(since_hours))
            return view.digests.list_since(project.id, since, limit=limit)

        return await self._store.read(stored)

    async def _summarized(self, messages: Sequence[ThreadMessage], total: int | None) -> ThreadSummary:
        """Much text is read beside the event loop, in turn."""
        if sum(len(message.body_md) for message in messages) <= LONG_CHARACTERS:
            return summarize(messages, total=total)
        async with self._turns.turn(current_turn()):
            return await computed(partial(summarize, messages, total=total))


def _readable(view: View, caller: Caller, project_key: str) -> Project:
    project = require_project(view, project_key)
    require_to_read(caller, project, READING_MAIL)
    return project


def _threads_of(recent: RecentMail) -> list[str]:
    """In the order of their first message, at most `MAX_NAMED_THREADS`."""
    named = (message.thread_id for message in recent.messages if message.thread_id is not None)
    return list(dict.fromkeys(named))[:MAX_NAMED_THREADS]


def _empty(since: Micros, now: Micros) -> Digest:
    return Digest(
        id=None,
        summary_text=json.dumps(show_summary(ThreadSummary()), separators=(",", ":")),
        start_ts=since,
        end_ts=now,
        source_message_count=0,
        source_thread_ids=(),
        llm_model=None,
        cost_usd=0.0,
        created_ts=None,
    )


def _with(wanted: NewDigest, text: str, model: str | None, cost_usd: float) -> NewDigest:
    return replace(wanted, summary_text=text, llm_model=model, cost_usd=cost_usd)
