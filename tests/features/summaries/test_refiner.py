from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_agent_mail.core.tools import ToolTable
from mcp_agent_mail.domain.summaries.refinement import Prompt
from mcp_agent_mail.features.summaries.refiner import Refiner
from mcp_agent_mail.features.summaries.service import SummaryService
from mcp_agent_mail.features.summaries.tools import summary_tools
from mcp_agent_mail.llm.answers import ModelAnswer, ModelFailed
from tests.features.messaging.harness import Identities
from tests.features.summaries.harness import SummariesHarness
from tests.seeded_store import open_seeded_store


@dataclass
class FakeModel:
    """Answers what a test says; None fails."""

    answer: str | None = '{"decisions": ["from the model"]}'
    default: str = "fake/usual"
    asked: list[str | None] = field(default_factory=list)

    async def ask(self, prompt: Prompt, *, model: str | None) -> ModelAnswer:
        assert json.loads(prompt.data)["mail"]
        self.asked.append(model)
        if self.answer is None:
            raise ModelFailed("The provider cannot be reached.")
        return ModelAnswer(text=self.answer, model=model or self.default, cost_usd=0.4)


@dataclass
class RefiningRoom(SummariesHarness):
    model: FakeModel = field(default_factory=FakeModel)


@pytest.fixture
async def helped(tmp_path: Path) -> AsyncIterator[RefiningRoom]:
    async with open_seeded_store(tmp_path) as seeded:
        identities, model = Identities(seeded.store), FakeModel()
        refiner = Refiner(seeded.store, model=model, daily_budget_usd=1.0, clock=seeded.clock)
        service = SummaryService(seeded.store, refiner=refiner, clock=seeded.clock)
        opened = RefiningRoom(seeded, identities, ToolTable(summary_tools(service, identities.caller)), model=model)
        await opened.post("Decision: by the rules")
        yield opened


async def test_a_model_refines_and_is_left_out_when_not_wanted(helped: RefiningRoom) -> None:
    with_model = await helped.thread()
    without = await helped.thread(llm_mode=False)

    assert with_model["summary"]["decisions"] == ["from the model"]
    assert without["summary"]["decisions"] == ["by the rules"]
    assert "llm_error" not in {**with_model, **without}
    assert helped.model.asked == ["fake/usual"]


async def test_the_model_that_a_call_names_is_asked(helped: RefiningRoom) -> None:
    await helped.thread(llm_model="fake/other")

    assert helped.model.asked == ["fake/other"]


@pytest.mark.parametrize("answer", [None, "no JSON"])
async def test_a_failure_falls_back_and_says_so(answer: str | None, helped: RefiningRoom) -> None:
    helped.model.answer = answer

    one = await helped.thread()
    several = await helped.thread(thread_id="plan-1,none")
    recent = await helped.call("summarize_recent")

    assert one["summary"]["decisions"] == ["by the rules"]
    assert one["llm_error"] == several["llm_error"] == recent["llm_error"]
    assert recent["llm_model"] is None


async def test_an_empty_thread_costs_nothing(helped: RefiningRoom) -> None:
    await helped.thread(thread_id="none")

    assert helped.model.asked == []


async def test_when_the_budget_of_the_day_is_used_the_rules_answer_until_the_next(helped: RefiningRoom) -> None:
    for _ in range(3):
        await helped.thread()
    refused = await helped.thread()
    helped.seeded.clock.step(86_400)
    next_day = await helped.thread()

    assert refused["llm_error"] == "The budget of today is used up: LLM_DAILY_BUDGET_USD."
    assert refused["summary"]["decisions"] == ["by the rules"]
    assert "llm_error" not in next_day
    assert len(helped.model.asked) == 4


async def test_a_digest_names_the_model_and_its_cost_and_is_cached_by_model(helped: RefiningRoom) -> None:
    first = await helped.call("summarize_recent")
    again = await helped.call("summarize_recent")
    other = await helped.call("summarize_recent", llm_mode=False)

    assert (first["llm_model"], first["cost_usd"], first["cached"]) == ("fake/usual", 0.4, False)
    assert again == {**first, "cached": True}
    assert (other["llm_model"], other["cost_usd"], other["cached"]) == (None, 0.0, False)
    assert len(helped.model.asked) == 1


async def test_a_digest_that_the_model_failed_is_tried_again_and_stored_once(helped: RefiningRoom) -> None:
    helped.model.answer = None
    failed = [await helped.call("summarize_recent") for _ in range(2)]
    helped.model.answer = '{"decisions": ["from the model"]}'
    better = await helped.call("summarize_recent")

    assert [one["id"] for one in (*failed, better)] == [1, 1, 2]
    assert json.loads(better["summary_text"])["decisions"] == ["from the model"]
