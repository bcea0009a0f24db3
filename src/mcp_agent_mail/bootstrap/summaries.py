"""Summaries, and the language model that refines them where there is one."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.summaries.refining import Refiner
from mcp_agent_mail.features.summaries.service import SummaryService
from mcp_agent_mail.llm.setup import model_of
from mcp_agent_mail.store.database import Store


def summary_service(settings: Settings, store: Store, clock: Clock) -> SummaryService:
    budget = settings.llm_daily_budget_usd
    refiner = Refiner(store, model=model_of(settings), daily_budget_usd=budget, clock=clock)
    return SummaryService(store, refiner=refiner, clock=clock)
