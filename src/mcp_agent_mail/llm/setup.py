"""From the settings to a language model, or to none."""

from __future__ import annotations

from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.llm.lite_llm import LiteLlm, LlmRules


def model_of(settings: Settings) -> LiteLlm | None:
    """None unless models are switched on and one is named: then nothing of LiteLLM is ever imported."""
    if not settings.llm_enabled or settings.llm_default_model is None:
        return None
    keys = {
        "openai": settings.openai_api_key,
        "anthropic": settings.anthropic_api_key,
        "groq": settings.groq_api_key,
        "xai": settings.xai_api_key or settings.grok_api_key,
        "gemini": settings.google_api_key or settings.gemini_api_key,
        "openrouter": settings.openrouter_api_key,
        "deepseek": settings.deepseek_api_key,
    }
    rules = LlmRules(
        default_model=settings.llm_default_model,
        api_base=settings.llm_api_base,
        temperature=settings.llm_temperature,
        max_tokens=settings.llm_max_tokens,
        timeout_s=settings.llm_timeout_seconds,
        is_cached=settings.llm_cache_enabled,
        redis_url=settings.llm_cache_redis_url if settings.llm_cache_backend == "redis" else None,
        log_costs=settings.llm_cost_logging_enabled,
        keys={provider: key for provider, key in keys.items() if key is not None},
    )
    return LiteLlm(rules)
