"""Digests: stored summaries of what came to a project lately."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass

MAX_HOURS = 87_600.0
"""Ten years: more counts as so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The mail that came last, in the order of delivery: while it is the same, nothing newer came."""

    message_id: MessageId
    delivered_ts: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDigest:
    """`span` is how far back was asked for, `llm_model` the model that refined it, None when none did."""

    project_id: ProjectId
    newest: Newest
    span: Micros
    max_messages: int
    summary_text: str
    start_ts: Micros
    end_ts: Micros
    source_message_count: int
    source_thread_ids: Sequence[str]
    llm_model: str | None
    cost_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """As stored. `id` and `created_ts` are None where there was no mail, so that nothing was stored."""

    id: int | None
    summary_text: str
    start_ts: Micros
    end_ts: Micros
    source_message_count: int
    source_thread_ids: Sequence[str]
    llm_model: str | None
    cost_usd: float
    created_ts: Micros | None


def span_of(hours: float) -> Micros:
    return Micros(max(1, round(min(hours, MAX_HOURS) * 3_600 * SECOND)))
