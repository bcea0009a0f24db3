"""What summaries look like to agents."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.summaries.digests import Digest
from mcp_agent_mail.domain.summaries.extract import aggregate
from mcp_agent_mail.features.summaries.results import SummarizedMail, SummarizedThread
from mcp_agent_mail.features.summaries.shapes import _error, _mentions, show_example, show_missing, show_summary


def show_thread_summaries(threads: Sequence[SummarizedThread]) -> Json:
    """The answer of `summarize_thread` for several threads, with what they say together under `aggregate`."""
    together = aggregate([thread.summary for thread in threads])
    return {
        "threads": [
            {
                "thread_id": thread.thread_id,
                "summary": show_summary(thread.summary),
                **_examples(thread),
                **show_missing(thread),
            }
            for thread in threads
        ],
        "aggregate": {
            "top_mentions": _mentions(together.top_mentions),
            "key_points": list(together.key_points),
            "action_items": list(together.action_items),
        },
        **_error(threads),
    }


def _examples(thread: SummarizedThread) -> Json:
    return {"examples": [show_example(message) for message in thread.examples]} if thread.examples else {}


def show_digest(digest: Digest) -> Json:
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


def show_recent_summary(recent: SummarizedMail) -> Json:
    error = {} if recent.llm_error is None else {"llm_error": recent.llm_error}
    return {**show_digest(recent.digest), "cached": recent.cached, **error}
