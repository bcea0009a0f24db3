"""The real LiteLLM against a model server of the tests' own. `make llm` runs these; LiteLLM takes seconds to import."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.summaries.refinement import Prompt
from mcp_agent_mail.features.summaries.refiner import Refiner
from mcp_agent_mail.features.summaries.service import DigestOptions, SummaryService
from mcp_agent_mail.llm.answers import ModelFailed
from mcp_agent_mail.llm.lite_llm import LiteLlm, LlmRules
from mcp_agent_mail.store.database import Store
from tests.core.machine import Machine
from tests.llm.model_server import ModelServer, serve_model
from tests.seeded_store import SeededStore, open_seeded_store

pytestmark = [
    pytest.mark.llm,
    # LiteLLM's own code and what it leaves open, not ours.
    pytest.mark.filterwarnings("ignore"),
]

MODEL = "openai/gpt-4o-mini"
KEY = "sk-the-key-of-the-operator"
ANSWER = {"decisions": ["Redis it is"], "action_items": ["[x] RedStone: ask", "tell"], "key_points": ["a\nb", 7]}
ANYONE = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
PROMPT = Prompt(instruction="Condense.", data="{}")


@pytest.fixture(scope="module", autouse=True)
def litellm_is_there() -> None:
    pytest.importorskip("litellm", reason="the extra `llm` is not installed")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serve_model() as model:
        model.answer = json.dumps(ANSWER)
        yield model


def lite(server: ModelServer, **rules: object) -> LiteLlm:
    given = {"default_model": MODEL, "api_base": server.url, "keys": {"openai": Secret(KEY)}, "is_cached": False}
    return LiteLlm(LlmRules(**{**given, **rules}))  # type: ignore[arg-type]  # the rules' own names


async def test_a_question_reaches_the_model_with_its_key_and_limits(server: ModelServer) -> None:
    answer = await lite(server, temperature=0.5, max_tokens=99).ask(PROMPT, model=None)

    (asked,) = server.asked
    assert json.loads(answer.text) == ANSWER
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("gpt-4o-mini", 0.5, 99)
    assert [message["content"] for message in asked["messages"]] == ["Condense.", "{}"]
    assert server.keys == [f"Bearer {KEY}"]
    assert answer.cost_usd == pytest.approx(0.15 + 0.06), "the price that LiteLLM knows, for the tokens used"


async def test_the_same_question_is_asked_once_and_costs_once(server: ModelServer) -> None:
    model = lite(server, is_cached=True, max_tokens=77)

    first = await model.ask(PROMPT, model=None)
    again = await model.ask(PROMPT, model=None)

    assert len(server.asked) == 1
    assert (first.cached, again.cached, again.cost_usd, again.text) == (False, True, 0.0, first.text)


@pytest.mark.parametrize(("status", "told"), [(401, "refused the key"), (429, "too many calls"), (500, "failed")])
async def test_a_failure_is_told_without_the_providers_words_and_without_the_key(
    status: int, told: str, server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.status = status

    with caplog.at_level(logging.DEBUG), pytest.raises(ModelFailed, match=told) as failed:
        await lite(server).ask(PROMPT, model=None)

    logged = "\n".join(f"{record.getMessage()} {vars(record).get('facts')}" for record in caplog.records)
    assert KEY not in f"{failed.value} {logged} {caplog.text}"


async def test_a_model_that_does_not_answer_in_time_is_given_up(server: ModelServer) -> None:
    server.gate.clear()

    with pytest.raises(ModelFailed, match="did not answer within"):
        await lite(server, timeout_s=0.2).ask(PROMPT, model=None)


async def test_a_server_that_is_not_there_is_told(server: ModelServer) -> None:
    with pytest.raises(ModelFailed):
        await lite(server, api_base="http://127.0.0.1:9/v1").ask(PROMPT, model=None)


async def test_the_key_of_one_provider_is_not_sent_to_the_endpoint_of_another(server: ModelServer) -> None:
    model = lite(server, keys={"openai": Secret(KEY), "anthropic": Secret("sk-ant")})

    with pytest.raises(ModelFailed, match="not set up here"):
        await model.ask(PROMPT, model="anthropic/claude-3-5-haiku-20241022")

    assert server.asked == []


async def test_a_caller_cannot_choose_a_provider_without_a_key(server: ModelServer) -> None:
    with pytest.raises(ModelFailed, match="not set up here"):
        await lite(server, api_base=None).ask(PROMPT, model="groq/llama-3.1-8b-instant")


async def test_a_call_is_logged_with_its_cost_and_without_text(
    server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="mcp_agent_mail.llm.lite_llm"):
        await lite(server).ask(PROMPT, model=None)
        await lite(server, log_costs=False).ask(PROMPT, model=None)

    (line,) = [record for record in caplog.records if record.name == "mcp_agent_mail.llm.lite_llm"]
    facts = vars(line)["facts"]
    assert (facts["model"], facts["prompt_tokens"], facts["cached"]) == (MODEL, 1_000_000, False)
    assert facts["cost_usd"] == pytest.approx(0.21)
    assert "Redis" not in f"{line.getMessage()} {facts}"


async def test_without_the_package_redis_answers_are_kept_in_memory(
    server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    model = lite(server, is_cached=True, redis_url=Secret("redis://:hidden@127.0.0.1:9/0"), max_tokens=55)

    await model.ask(PROMPT, model=None)
    again = await model.ask(PROMPT, model=None)

    assert again.cached or len(server.asked) == 2
    assert "hidden" not in caplog.text


# --- Through the service ------------------------------------------------------------------------------------------


def service(store: Store, model: LiteLlm, seeded: SeededStore, *, budget: float = 1.0) -> SummaryService:
    return SummaryService(
        store, refiner=Refiner(store, model=model, daily_budget_usd=budget, clock=seeded.clock), clock=seeded.clock
    )


async def test_a_summary_is_refined_and_its_cost_outlives_the_server(tmp_path: Path, server: ModelServer) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        await seeded.post(
            seeded.letter(seeded.blue, body="Decision: x", thread_id="plan-1"), *seeded.addressed([seeded.red])
        )
        first = await service(seeded.store, lite(server), seeded, budget=0.2).summarize_threads(
            ANYONE, "/code/app", ["plan-1"], DigestOptions(), per_thread_limit=50
        )
        day = seeded.clock.now // 86_400_000_000

    async with Store(tmp_path / "mail.sqlite3", clock=seeded.clock) as store:
        spent = await store.read(lambda view: view.llm_spending.of_day(day))
        second = await service(store, lite(server), seeded, budget=0.2).summarize_threads(
            ANYONE, "/code/app", ["plan-1"], DigestOptions(), per_thread_limit=50
        )

    assert first[0].llm_error is None
    assert first[0].summary.decisions == ("Redis it is",)
    assert first[0].summary.key_points == ("a b",)
    assert first[0].summary.action_items == ("[x] RedStone: ask", "[ ] tell")
    assert spent == pytest.approx(0.21)
    assert second[0].llm_error == "The budget of today is used up: LLM_DAILY_BUDGET_USD."
    assert second[0].summary.decisions == ("x",)
    assert len(server.asked) == 1


def test_litellm_is_not_imported_until_a_model_is_asked(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.settings(LLM_ENABLED="true", LLM_DEFAULT_MODEL=MODEL)
    code = (
        "import sys; import mcp_agent_mail.bootstrap, mcp_agent_mail.llm.lite_llm as lite;"
        "lite.LiteLlm(lite.LlmRules(default_model='openai/x')); print('litellm' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
