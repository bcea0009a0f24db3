"""What summaries answer, before it is put into the contract's shapes."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.summaries.digests import Digest
from mcp_agent_mail.domain.summaries.extract import ThreadMessage, ThreadSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizedThread:
    """`examples` are empty when none were asked for. `llm_error` says why a model's help is missing; None when it is
    not, or was not wanted. `near` are threads that may have been meant, where this one has no mail.
    """

    thread_id: str
    summary: ThreadSummary
    examples: Sequence[ThreadMessage] = ()
    llm_error: str | None = None
    near: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizedMail:
    """`cached`: nothing newer came since the digest was stored."""

    digest: Digest
    cached: bool
    llm_error: str | None = None
