"""A model's help with a summary: within a daily budget, and never in the way of the summary itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mcp_agent_mail.core.clock import SECOND, Clock
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.summaries.extract import ThreadMessage, ThreadSummary
from mcp_agent_mail.domain.summaries.refinement import Prompt, UnfitAnswer, prompt_for, refined
from mcp_agent_mail.llm.answers import ModelAnswer, ModelFailed
from mcp_agent_mail.store.database import Store

_DAY = 86_400 * SECOND


class Model(Protocol):
    """A language model. `ask` raises ModelFailed."""

    @property
    def default(self) -> str: ...

    async def ask(self, prompt: Prompt, *, model: str | None) -> ModelAnswer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """The summary, refined by `model`; None where it is as it was, and `error` says why if a model was asked for."""

    summary: ThreadSummary
    model: str | None = None
    cost_usd: float = 0.0
    error: str | None = None


class Refiner:
    """`model` is None where the server has none: then summaries stay as they are, and that is no error."""

    def __init__(self, store: Store, *, model: Model | None, daily_budget_usd: float, clock: Clock) -> None:
        self._store = store
        self._model = model
        self._daily_budget_usd = daily_budget_usd
        self._clock = clock

    def model_for(self, wanted: str | None, *, llm_mode: bool) -> str | None:
        """The model that a summary would be refined by; None when none would."""
        return None if self._model is None or not llm_mode else wanted or self._model.default

    async def refine(self, summary: ThreadSummary, messages: Sequence[ThreadMessage], wanted: str | None) -> Refined:
        """`wanted` is what `model_for` gave. What goes wrong with the model leaves the summary as it is."""
        if self._model is None or wanted is None or not messages:
            return Refined(summary=summary)
        day = self._clock() // _DAY
        spent = await self._store.read(lambda view: view.llm_spending.of_day(day))
        if spent >= self._daily_budget_usd:
            return Refined(summary=summary, error="The budget of today is used up: LLM_DAILY_BUDGET_USD.")
        try:
            answer = await self._model.ask(prompt_for(summary, messages), model=wanted)
        except ModelFailed as failed:
            return Refined(summary=summary, error=str(failed))
        await self._store.write(lambda tx: tx.llm_spending.add(day, answer.cost_usd))
        try:
            better = refined(summary, answer.text)
        except UnfitAnswer as unfit:
            return Refined(summary=summary, cost_usd=answer.cost_usd, error=str(unfit))
        return Refined(summary=better, model=answer.model, cost_usd=answer.cost_usd)
