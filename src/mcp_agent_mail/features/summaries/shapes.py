"""A summary as every answer shows it. Keys are a wire contract."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.identity.names import did_you_mean
from mcp_agent_mail.domain.summaries.extract import ThreadMessage, ThreadSummary
from mcp_agent_mail.features.summaries.results import SummarizedThread


def show_thread_summary(thread: SummarizedThread) -> Json:
    """The answer of `summarize_thread` for one thread. `llm_error` is there only where a model's help was wanted and
    failed, `hint` where the thread has no mail.
    """
    return {
        "thread_id": thread.thread_id,
        "summary": show_summary(thread.summary),
        "examples": [show_example(message) for message in thread.examples],
        **_error([thread]),
        **show_missing(thread),
    }


def show_missing(thread: SummarizedThread) -> dict[str, str]:
    """A `hint` where there is nothing to summarize: the id may be misspelt."""
    if thread.summary.total_messages:
        return {}
    said = "Nobody has written in this thread, as far as you may read. Thread ids stand in every message; case counts."
    return {"hint": f"{did_you_mean(thread.near)}{said}"}


def show_summary(summary: ThreadSummary) -> Json:
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


def show_example(message: ThreadMessage) -> Json:
    return {"id": message.id, "subject": message.subject, "from": message.sender, "created_ts": iso(message.created_ts)}


def _mentions(mentions: Iterable[tuple[str, int]]) -> Json:
    return [{"name": name, "count": count} for name, count in mentions]


def _error(threads: Iterable[SummarizedThread]) -> Json:
    """The first: threads of one call fail alike."""
    return next(({"llm_error": thread.llm_error} for thread in threads if thread.llm_error is not None), {})
