"""The settings of language models: which one, what it may cost, and the providers' keys. Standard library only."""

from __future__ import annotations

from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import Row

_MODEL = kinds.matching(
    "model", r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}", "a model as LiteLLM names it, such as openai/gpt-4o-mini"
)
_REDIS_URL = kinds.SettingKind(
    label="secret URL", expected="redis://… or rediss://…", parse=kinds.parse_redis_url, secret=True
)
_KEY = kinds.SettingKind(label="secret", expected="one line of text", parse=kinds.parse_key, secret=True)

_GROUP = "Language models"
_PROVIDERS = {
    "OPENAI": "OpenAI",
    "ANTHROPIC": "Anthropic",
    "GROQ": "Groq",
    "XAI": "xAI",
    "GROK": "xAI, if XAI_API_KEY is not set",
    "GOOGLE": "Google",
    "GEMINI": "Google, if GOOGLE_API_KEY is not set",
    "OPENROUTER": "OpenRouter",
    "DEEPSEEK": "DeepSeek",
}

LLM_ROWS = (
    Row(
        name="LLM_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Let a language model refine summaries. It needs the extra `llm`, and sends mail to the model's provider.",
        group=_GROUP,
    ),
    Row(
        name="LLM_DEFAULT_MODEL",
        kind=_MODEL,
        default="",
        does="The model, unless a call names another of a provider whose key is set. Without it none is used.",
        group=_GROUP,
    ),
    Row(
        name="LLM_API_BASE",
        kind=kinds.URL,
        default="",
        does="An endpoint of your own that the default model's provider is asked at. Other providers are then refused.",
        group=_GROUP,
    ),
    Row(
        name="LLM_TEMPERATURE",
        kind=kinds.decimal(0, 2),
        default="0.2",
        does="How freely the model writes.",
        group=_GROUP,
    ),
    Row(
        name="LLM_MAX_TOKENS",
        kind=kinds.whole(16, 32_768),
        default="512",
        does="The longest answer.",
        group=_GROUP,
    ),
    Row(
        name="LLM_TIMEOUT_SECONDS",
        kind=kinds.whole(1, 300),
        default="20",
        does="How long a model may take; then the summary made by rules is given.",
        group=_GROUP,
    ),
    Row(
        name="LLM_DAILY_BUDGET_USD",
        kind=kinds.decimal(0, 10_000),
        default="1",
        does="What models may cost on a day (UTC), over restarts; then summaries are made by rules until the next. "
        "Models whose price LiteLLM does not know count as free.",
        group=_GROUP,
    ),
    Row(
        name="LLM_CACHE_ENABLED",
        kind=kinds.BOOL,
        default="true",
        does="Keep answers, so that the same question costs once.",
        group=_GROUP,
    ),
    Row(
        name="LLM_CACHE_BACKEND",
        kind=kinds.one_of("memory", "redis"),
        default="memory",
        does="Where answers are kept: `memory` the newest 200 for ten minutes, `redis` at LLM_CACHE_REDIS_URL.",
        group=_GROUP,
    ),
    Row(
        name="LLM_CACHE_REDIS_URL",
        kind=_REDIS_URL,
        default="",
        does="Of LLM_CACHE_BACKEND=redis. It needs the package `redis`.",
        group=_GROUP,
    ),
    Row(
        name="LLM_COST_LOGGING_ENABLED",
        kind=kinds.BOOL,
        default="true",
        does="Log a line per call of a model: tokens, cost, time; never text.",
        group=_GROUP,
    ),
    *(
        Row(
            name=f"{provider}_API_KEY",
            kind=_KEY,
            default="",
            does=f"The key of {title}. Used only with LLM_ENABLED.",
            group=_GROUP,
        )
        for provider, title in _PROVIDERS.items()
    ),
)
