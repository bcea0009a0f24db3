"""Language models through LiteLLM, which is imported at the first question and not before.

The import takes three seconds and 300 MB, and a question takes seconds: both happen on threads of
their own, and nothing of them on the event loop. LiteLLM is the optional extra `llm`.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeVar

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.domain.summaries.refinement import Prompt
from mcp_agent_mail.llm.answers import ModelAnswer, ModelFailed

T = TypeVar("T")

Untyped = Any
"""Of LiteLLM, which may not be installed: its module, its cache, its answers."""

AT_ONCE = 2
MAX_WAITING = 20

log = logging.getLogger(__name__)

_FAILURES = {
    "AuthenticationError": "The provider refused the key.",
    "PermissionDeniedError": "The provider refused the key.",
    "RateLimitError": "The provider has had too many calls.",
    "NotFoundError": "The provider does not know the model.",
    "APIConnectionError": "The provider cannot be reached.",
    "ServiceUnavailableError": "The provider is not available.",
    "InternalServerError": "The provider failed.",
    "ContextWindowExceededError": "The mail is too long for the model.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmRules:
    """`keys` by LiteLLM's name of the provider. With `api_base` only the default model's provider is asked."""

    default_model: str
    api_base: str | None = None
    temperature: float = 0.2
    max_tokens: int = 512
    timeout_s: float = 20
    is_cached: bool = True
    redis_url: Secret | None = None
    log_costs: bool = True
    keys: Mapping[str, Secret] = field(default_factory=dict)


class LiteLlm:
    """One per server: LiteLLM's cache is the process's."""

    def __init__(self, rules: LlmRules) -> None:
        self._rules = rules
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0
        self._loading = threading.Lock()
        self._litellm: Untyped = None  # a module without types of its own worth the name

    @property
    def default(self) -> str:
        return self._rules.default_model

    async def ask(self, prompt: Prompt, *, model: str | None) -> ModelAnswer:
        """The model's answer. Raises ModelFailed, at the latest when the time is up; only the import at the first
        question comes on top.
        """
        if self._turns.locked() and self._waiting >= MAX_WAITING:
            raise ModelFailed("Too many summaries wait for the model.")
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            litellm = self._litellm or await _on_a_thread(self._load)
            async with asyncio.timeout(self._rules.timeout_s + 1):
                return await _on_a_thread(lambda: self._completed(litellm, prompt, model or self.default))
        except TimeoutError as late:
            raise self._too_late() from late
        finally:
            self._turns.release()

    def _load(self) -> Untyped:
        """On a thread. Prices come out of the package, not from the network."""
        with self._loading:
            if self._litellm is None:
                os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
                # Otherwise it reads a `.env` of its own finding into our environment.
                os.environ["LITELLM_MODE"] = "PRODUCTION"
                try:
                    litellm: Untyped = importlib.import_module("litellm")
                except ImportError as missing:
                    raise ModelFailed("LiteLLM is not installed: it is the extra `llm`.") from missing
                for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
                    logging.getLogger(name).setLevel(logging.CRITICAL)
                litellm.suppress_debug_info = True
                litellm.telemetry = False
                litellm.drop_params = True
                if self._rules.is_cached:
                    litellm.cache = self._cache(litellm)
                self._litellm = litellm
            return self._litellm

    def _cache(self, litellm: Untyped) -> Untyped:
        if self._rules.redis_url is None:
            return litellm.Cache(type="local")
        try:
            return litellm.Cache(type="redis", url=self._rules.redis_url.reveal())
        except Exception as failed:  # noqa: BLE001  # whatever LiteLLM and redis raise; a cache is no reason to fail
            log.warning("model answers are kept in memory: no redis", extra={"facts": {"error": type(failed).__name__}})
            return litellm.Cache(type="local")

    def _completed(self, litellm: Untyped, prompt: Prompt, model: str) -> ModelAnswer:
        """On a thread."""
        began = time.monotonic()
        try:
            response = litellm.completion(
                model=model,
                messages=[
                    {"role": "system", "content": prompt.instruction},
                    {"role": "user", "content": prompt.data},
                ],
                temperature=self._rules.temperature,
                max_tokens=self._rules.max_tokens,
                timeout=self._rules.timeout_s,
                num_retries=0,
                max_retries=0,
                caching=self._rules.is_cached,
                api_base=self._rules.api_base,
                api_key=self._key(litellm, model),
            )
            answer = _answer(response, model)
        except ModelFailed:
            raise
        except Exception as failed:  # noqa: BLE001  # LiteLLM raises its own and its libraries' kinds
            # Its text may quote a key, or the mail: the class alone is told.
            kind = type(failed).__name__
            log.warning("model failed", extra={"facts": {"model": model, "error": kind}})
            if kind == "Timeout":
                raise self._too_late() from None
            raise ModelFailed(_FAILURES.get(kind, f"The call of the model failed: {kind}.")) from None
        if self._rules.log_costs:
            usage = getattr(response, "usage", None)
            facts = {
                "model": model,
                "prompt_tokens": getattr(usage, "prompt_tokens", None),
                "completion_tokens": getattr(usage, "completion_tokens", None),
                "cost_usd": answer.cost_usd,
                "cached": answer.cached,
                "took_ms": round((time.monotonic() - began) * 1_000),
            }
            log.info("model asked", extra={"facts": facts})
        return answer

    def _key(self, litellm: Untyped, model: str) -> str | None:
        """The key of the model's provider. A caller may name models of the providers that the operator set up alone."""
        provider, usual = (_provider(litellm, name) for name in (model, self.default))
        key = self._rules.keys.get(provider)
        if provider != usual and (self._rules.api_base is not None or key is None):
            raise ModelFailed("The model's provider is not set up here: leave llm_model out.")
        if key is not None:
            return key.reveal()
        return "none" if self._rules.api_base is not None else None

    def _too_late(self) -> ModelFailed:
        return ModelFailed(f"The model did not answer within {self._rules.timeout_s:g} s: LLM_TIMEOUT_SECONDS.")


def _provider(litellm: Untyped, model: str) -> str:
    return str(litellm.get_llm_provider(model=model)[1])


def _answer(response: Untyped, model: str) -> ModelAnswer:
    hidden = getattr(response, "_hidden_params", None) or {}
    cached = bool(hidden.get("cache_hit"))
    cost = 0.0 if cached else float(hidden.get("response_cost") or 0.0)
    return ModelAnswer(text=str(response.choices[0].message.content or ""), model=model, cost_usd=cost, cached=cached)


async def _on_a_thread(work: Callable[[], T]) -> T:
    """Run `work` on a thread that no stop waits for. Who is cancelled leaves it to end by itself."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # there is a result where there is no error

    def run() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001  # it is raised again where it is awaited
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            log.debug("the loop ended before a model answered")

    threading.Thread(target=run, name="llm", daemon=True).start()
    return await done
