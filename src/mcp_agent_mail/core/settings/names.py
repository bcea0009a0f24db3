"""Names that are no settings of today but that we know: former ones, ones without effect."""

from __future__ import annotations

from itertools import pairwise

from mcp_agent_mail.core.settings.rows import ROWS

FORMER: dict[str, str] = {
    "MCP_MAIL_STORE": "STORAGE_ROOT",
    "HOST": "HTTP_HOST",
    "PORT": "HTTP_PORT",
    "JWT_ENABLED": "HTTP_JWT_ENABLED",
    "JWT_SECRET": "HTTP_JWT_SECRET",
    "JWT_JWKS_URL": "HTTP_JWT_JWKS_URL",
    "TOON_DEFAULT_FORMAT": "MCP_AGENT_MAIL_OUTPUT_FORMAT",
    "AGENT_MAIL_AGENT": "AGENT_NAME",
    "INTEGRATION_BEARER_TOKEN": "AGENT_MAIL_TOKEN",
}
"""Other names by which a setting is still accepted."""

_WHY_WITHOUT_EFFECT = {
    "there is one writer and no pool": "DATABASE_POOL_SIZE DATABASE_MAX_OVERFLOW DATABASE_POOL_TIMEOUT",
    "there is one server process": "HTTP_RATE_LIMIT_BACKEND HTTP_RATE_LIMIT_REDIS_URL",
    "it is always on": "WORKTREES_ENABLED GIT_IDENTITY_ENABLED",
    "it follows from the tools' annotations": "HTTP_RBAC_READONLY_TOOLS",
    "credentials are never allowed across origins": "HTTP_CORS_ALLOW_CREDENTIALS",
    "it is fixed": "HTTP_CORS_ALLOW_METHODS HTTP_CORS_ALLOW_HEADERS LOG_INCLUDE_TRACE",
    "it would go past the recipient's consent": "CONTACT_AUTO_RETRY_ENABLED MESSAGING_AUTO_REGISTER_RECIPIENTS",
    "it is built in": "TOON_STATS TOON_TRU_BIN TOON_BIN",
    "a call says it itself": "CLAUDE_MAILBOX_NAME",
}
WITHOUT_EFFECT: dict[str, str] = {name: why for why, names in _WHY_WITHOUT_EFFECT.items() for name in names.split()}
"""Names that are accepted and do nothing, each with the reason."""

PROVIDER_KEYS: frozenset[str] = frozenset(
    f"{provider}_API_KEY" for provider in "OPENAI ANTHROPIC GROQ XAI GROK GOOGLE GEMINI OPENROUTER DEEPSEEK".split()
)

_FOR_CHILDREN = frozenset({"AM_SLOT", "AGENTMAIL_DAEMON_CHILD"})

SECRETS: frozenset[str] = frozenset(
    {
        *(row.name for row in ROWS if row.kind.secret),
        *("JWT_SECRET", "HTTP_RATE_LIMIT_REDIS_URL"),
        "INTEGRATION_BEARER_TOKEN",
    }
)
"""Names whose values are never shown."""

HIDING_PATHS: frozenset[str] = frozenset(row.name for row in ROWS if row.kind.hides_paths)
"""Names of URLs of which nothing is shown behind the host."""

SETTINGS: frozenset[str] = frozenset(row.name for row in ROWS)
KNOWN: frozenset[str] = SETTINGS | FORMER.keys() | WITHOUT_EFFECT.keys() | PROVIDER_KEYS | _FOR_CHILDREN

_SHARED_PREFIXES = ("DATABASE_", "LOG_", "GIT_", "OTEL_", "JWT_")
_SHARED = frozenset({"HOST", "PORT", *PROVIDER_KEYS})

OUR_PREFIXES = (
    *("ACK_", "AGENTMAIL_", "AGENT_AUTH", "AGENT_MAIL_", "AGENT_NAME", "ARCHIVE_", "CLAIMS_", "CLAUDE_MAILBOX_"),
    *("CONTACT_", "FACADES_", "FILE_RESERVATION", "HTTP_", "INSTRUMENTATION_", "LLM_", "MCP_AGENT_MAIL_"),
    *("MCP_MAIL_", "MESSAGE_", "MESSAGING_", "NOTIFICATIONS_", "POSTAL_", "PROJECT_ADMISSION", "PROJECT_IDENTITY_"),
    *("QUOTA_", "RETENTION_", "STORAGE_", "STORE_", "TOOLS_", "TOOL_METRICS_", "WEBHOOK_"),
)


def is_shared(name: str) -> bool:
    """Whether other programs use the name too, so that finding it says nothing about us."""
    return name in _SHARED or name.startswith(_SHARED_PREFIXES)


def is_ours(name: str) -> bool:
    """Whether only this product uses the name."""
    return name in KNOWN and not is_shared(name)


def nearest_setting(name: str) -> str | None:
    """The setting within two edits of `name`, if there is one."""
    pieces = _pieces(name)
    likely = [known for known in SETTINGS if any(piece in known for piece in pieces)]
    close = ((distance, known) for known in likely if (distance := _edits(name, known)) <= _MAX_EDITS)
    return min(close, default=(0, None))[1]


_MAX_EDITS = 2


def _pieces(name: str) -> list[str]:
    """One more than edits are allowed: whichever the edits are, one piece is left as it was. Every command looks for
    each name of its environment, and this spares it nearly all comparing.
    """
    ends = [len(name) * number // (_MAX_EDITS + 1) for number in range(_MAX_EDITS + 2)]
    return [name[start:end] for start, end in pairwise(ends)]


def _edits(left: str, right: str) -> int:
    """Insertions, deletions and replacements between two words; anything over the bound is just "more"."""
    if abs(len(left) - len(right)) > _MAX_EDITS:
        return _MAX_EDITS + 1
    previous = list(range(len(right) + 1))
    for row, a in enumerate(left, start=1):
        current = [row]
        for column, b in enumerate(right, start=1):
            current.append(min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (a != b)))
        if min(current) > _MAX_EDITS:
            return _MAX_EDITS + 1
        previous = current
    return previous[-1]
