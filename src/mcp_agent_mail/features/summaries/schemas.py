"""What summaries look like to agents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.summaries.digests import Digest
from mcp_agent_mail.domain.summaries.extract import ThreadMessage, ThreadSummary, aggregate
from mcp_agent_mail.features.summaries.results import SummarizedMail, SummarizedThread


def thread_object(thread: SummarizedThread) -> Json:
    """The answer of `summarize_thread` for one thread. `llm_error` is there only where a model's help was wanted and
    failed.
    """
    return {
        "thread_id": thread.thread_id,
        "summary": summary_object(thread.summary),
        "examples": [example_object(message) for message in thread.examples],
        **_error([thread]),
    }


def threads_object(threads: Sequence[SummarizedThread]) -> Json:
    """The answer of `summarize_thread` for several threads, with what they say together under `aggregate`."""
    together = aggregate([thread.summary for thread in threads])
    return {
        "threads": [
            {"thread_id": thread.thread_id, "summary": summary_object(thread.summary), **_examples(thread)}
            for thread in threads
        ],
        "aggregate": {
            "top_mentions": _mentions(together.top_mentions),
            "key_points": list(together.key_points),
            "action_items": list(together.action_items),
        },
        **_error(threads),
    }


def summary_object(summary: ThreadSummary) -> Json:
    """The summary of one thread; or of a digest's mail, stored so as its `summary_text`. The keys are a contract."""
    return {
        "participants": list(summary.participants),
        "key_points": list(summary.key_points),
        "decisions": list(summary.decisions),
        "action_items": list(summary.action_items),
        "open_questions": list(summary.open_questions),
        "total_messages": summary.total_messages,
        "open_actions": summary.open_actions,
        "done_actions": summary.done_actions,
        "mentions": _mentions(summary.mentions),
        "code_references": list(summary.code_references),
    }


def example_object(message: ThreadMessage) -> Json:
    return {"id": message.id, "subject": message.subject, "from": message.sender, "created_ts": iso(message.created_ts)}


def _mentions(mentions: Iterable[tuple[str, int]]) -> Json:
    return [{"name": name, "count": count} for name, count in mentions]


def _examples(thread: SummarizedThread) -> Json:
    return {"examples": [example_object(message) for message in thread.examples]} if thread.examples else {}


def _error(threads: Iterable[SummarizedThread]) -> Json:
    """The first: threads of one call fail alike."""
    return next(({"llm_error": thread.llm_error} for thread in threads if thread.llm_error is not None), {})


def digest_object(digest: Digest) -> Json:
    """A digest with its text as it was stored. `id` and `created_ts` are null where there was no mail, so that nothing
    was; `cost_usd` is in US dollars.
    """
    return {
        "id": digest.id,
        "summary_text": digest.summary_text,
        "start_ts": iso(digest.start_ts),
        "end_ts": iso(digest.end_ts),
        "source_message_count": digest.source_message_count,
        "source_thread_ids": list(digest.source_thread_ids),
        "llm_model": digest.llm_model,
        "cost_usd": digest.cost_usd,
        "created_ts": iso_or_none(digest.created_ts),
    }


def recent_object(recent: SummarizedMail) -> Json:
    error = {} if recent.llm_error is None else {"llm_error": recent.llm_error}
    return {**digest_object(recent.digest), "cached": recent.cached, **error}
