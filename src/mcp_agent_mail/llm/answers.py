"""What a language model gives, or why it gives nothing."""

from __future__ import annotations

from mcp_agent_mail.core.lazy.dataclass import dataclass


class ModelFailed(Exception):
    """No answer. The text is fit for callers: it quotes neither the provider nor a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """`cost_usd` is 0 for an answer out of the cache, and where the model's price is not known."""

    text: str
    model: str
    cost_usd: float
    cached: bool = False
