"""The tools of summaries: what they refuse themselves, and one thread or several."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import InvalidInput, NotFound
from tests.features.summaries.harness import SummariesHarness


async def test_several_threads_come_with_what_they_say_together(harness: SummariesHarness) -> None:
    await harness.post("Note: the port is 8081. @RedStone")
    await harness.post("- [ ] ask them. @RedStone @GreenField", thread_id="plan-2")

    answer = await harness.thread(thread_id="plan-1, plan-2,none")

    assert [one["thread_id"] for one in answer["threads"]] == ["plan-1", "plan-2", "none"]
    assert answer["aggregate"] == {
        "top_mentions": [{"name": "RedStone", "count": 2}, {"name": "GreenField", "count": 1}],
        "key_points": ["Note: the port is 8081."],
        "action_items": ["[ ] ask them. @RedStone @GreenField"],
    }


async def test_an_unknown_project_and_an_unfit_thread_are_errors(harness: SummariesHarness) -> None:
    with pytest.raises(NotFound):
        await harness.thread(project_key="/code/none")
    with pytest.raises(InvalidInput):
        await harness.thread(thread_id="no thread")


@pytest.mark.parametrize("tool", ["summarize_thread", "summarize_recent"])
async def test_what_names_no_model_is_refused(harness: SummariesHarness, tool: str) -> None:
    given = {"thread_id": "plan-1"} if tool == "summarize_thread" else {}

    with pytest.raises(InvalidInput) as refused:
        await harness.call(tool, llm_model="a model; with words", **given)

    assert refused.value.data["parameter"] == "llm_model"


async def test_examples_are_given_only_when_asked_for(harness: SummariesHarness) -> None:
    await harness.post("x")

    assert (await harness.thread())["examples"] == []


@pytest.mark.parametrize("hours", [0, -1, "nan", "soon", True])
async def test_hours_are_a_number_over_zero(hours: object, harness: SummariesHarness) -> None:
    with pytest.raises(InvalidInput):
        await harness.call("summarize_recent", since_hours=hours)
