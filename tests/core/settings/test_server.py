from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.core.settings.rows import ROWS
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.settings.sources import SettingsError, shown_text
from mcp_agent_mail.core.settings.url_text import SecretAddress
from tests.core.machine import TOKEN, Machine

WINDOW = "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_there_is_one_attribute_per_row_in_the_rows_order() -> None:
    assert [field.name for field in dataclasses.fields(Settings)] == [row.attribute for row in ROWS]


# `Any`: mixed types, checked against the class when it is made.
RESERVATIONS: dict[str, Any] = {
    "file_reservation_inactivity_seconds": 1800,
    "file_reservation_activity_grace_seconds": 900,
    "file_reservations_cleanup_enabled": True,
    "file_reservations_cleanup_interval_seconds": 60,
    "file_reservations_enforcement_enabled": True,
    "listening_window_seconds": 60,
}


EDGE: dict[str, Any] = {  # `Any`: as above
    "http_public_url": None,
    "http_trusted_proxies": None,
    "http_max_connections": 8192,
    "http_max_calls": 256,
    "http_cors_enabled": False,
    "http_cors_origins": None,
    "http_bearer_role": "writer",
    "http_rbac_enabled": True,
    "http_rbac_reader_roles": ("reader", "read", "ro"),
    "http_rbac_writer_roles": ("writer", "write", "tools", "rw"),
    "http_rbac_operator_roles": ("operator", "admin"),
    "http_rbac_default_role": "reader",
    "http_jwt_enabled": False,
    "http_jwt_secret": None,
    "http_jwt_jwks_url": None,
    "http_jwt_algorithms": ("HS256",),
    "http_jwt_audience": None,
    "http_jwt_issuer": None,
    "http_jwt_role_claim": "role",
    "http_jwt_agent_claim": "agent",
    "http_rate_limit_enabled": False,
    "http_rate_limit_per_minute": 600,
    "http_rate_limit_tools_per_minute": 600,
    "http_rate_limit_tools_burst": 0,
    "http_rate_limit_resources_per_minute": 600,
    "http_rate_limit_resources_burst": 0,
}


_DEFAULTS: dict[str, Any] = {  # `Any`: as above
    "app_environment": "development",
    "database_echo": False,
    "shutdown_timeout_seconds": 8,
    "store_max_bytes": 20 * 2**30,
    "store_min_free_bytes": 512 * 2**20,
    "test_fixtures_enabled": False,
    "http_host": "127.0.0.1",
    "http_port": 8765,
    "http_path": "/mcp",
    "http_allowed_hosts": ("localhost", "127.0.0.1", "::1"),
    "http_request_log_enabled": False,
    "http_fast_path_enabled": True,
    **EDGE,
    "agent_auth": "open",
    "project_admission": "open",
    "http_bearer_token": None,
    "http_allow_localhost_unauthenticated": False,
    "project_identity_mode": "dir",
    "project_identity_remote": "origin",
    "mcp_agent_mail_window_ttl_days": 30,
    "git_author_name": "mcp-agent",
    "git_author_email": "mcp-agent@example.com",
    "archive_commit_interval_ms": 500,
    "archive_location": "store",
    "archive_max_tracked_files": 100_000,
    "agent_name_enforcement_mode": "free",
    "message_body_max_bytes": 2**20,
    "contact_enforcement_enabled": True,
    "contact_auto_scope": "project",
    "contact_auto_ttl_seconds": 86_400,
    "messaging_auto_handshake_on_block": True,
    "convert_images": True,
    "keep_original_images": False,
    "inline_image_max_bytes": 65_536,
    "attachment_max_bytes": 20 * 2**20,
    "image_max_pixels": 40_000_000,
    "allow_absolute_attachment_paths": False,
    "quota_enabled": False,
    "quota_inbox_limit_count": 0,
    "quota_attachments_limit_bytes": 0,
    "retention_report_enabled": False,
    "retention_report_interval_seconds": 3600,
    "retention_purge_enabled": False,
    "retention_max_age_days": 180,
    "retention_ignore_project_patterns": None,
    "ack_ttl_enabled": True,
    "ack_ttl_seconds": 1800,
    "ack_ttl_scan_interval_seconds": 60,
    "ack_escalation_enabled": False,
    "ack_escalation_mode": "log",
    "ack_escalation_claim_ttl_seconds": 3600,
    "ack_escalation_claim_exclusive": False,
    "ack_escalation_claim_holder_name": "Human",
    "notifications_enabled": False,
    "notifications_include_metadata": True,
    "notifications_debounce_ms": 100,
    "waiters_max": 5_000,
    "feed_keep_days": 30,
    "tools_filter_enabled": True,
    "tools_filter_profile": "full",
    "tools_filter_mode": "include",
    "tools_filter_clusters": None,
    "tools_filter_tools": None,
    "web_enabled": True,
    "custom_tools": None,
    "webhook_urls": None,
    "webhook_secret": None,
    "webhook_allow_private": False,
    "agentmail_enabled": False,
    "claims_enabled": False,
    "claude_mailbox_delete_after_minutes": 10_080,
    "claude_mailbox_enabled": False,
    "claude_mailbox_hide_after_minutes": 1_440,
    "claude_mailbox_ports": (47_822, 37_849),
    "claude_mailbox_sweep_interval_minutes": 60,
    "claude_mailbox_url": None,
    "facades_host": "127.0.0.1",
    "facades_mailboxes_max": 10_000,
    "postal_enabled": False,
    "postal_port": 0,
    "postal_max_wait_seconds": 55,
    "postal_mailbox_max": 10_000,
    "mcp_agent_mail_output_format": "json",
    "llm_enabled": False,
    "llm_default_model": None,
    "llm_api_base": None,
    "llm_temperature": 0.2,
    "llm_max_tokens": 512,
    "llm_timeout_seconds": 20,
    "llm_daily_budget_usd": 1.0,
    "llm_cache_enabled": True,
    "llm_cache_backend": "memory",
    "llm_cache_redis_url": None,
    "llm_cost_logging_enabled": True,
    "openai_api_key": None,
    "anthropic_api_key": None,
    "groq_api_key": None,
    "xai_api_key": None,
    "grok_api_key": None,
    "google_api_key": None,
    "gemini_api_key": None,
    "openrouter_api_key": None,
    "deepseek_api_key": None,
    "log_level": "INFO",
    "log_rich_enabled": True,
    "log_json_enabled": False,
    "tools_log_enabled": False,
    "instrumentation_enabled": False,
    "instrumentation_slow_query_ms": 250,
    "tool_metrics_emit_enabled": False,
    "tool_metrics_emit_interval_seconds": 60,
    "http_otel_enabled": False,
    "otel_service_name": "mcp-agent-mail",
    "otel_exporter_otlp_endpoint": None,
    "agent_mail_env_file": None,
    "agent_mail_url": None,
    "agent_mail_token": None,
    "agent_mail_agent_token": None,
    "agent_mail_project": None,
    "agent_name": None,
    "agent_mail_guard_mode": "block",
    "agent_mail_guard_require_name": "auto",
    "agent_mail_guard_on_error": "warn",
    "agent_mail_bypass": False,
    "agent_mail_interval": 30,
    "agentmail_name": None,
    "mcp_agent_mail_window_id": None,
}
"""But for those that follow from where the home is."""


def test_with_nothing_given_every_setting_has_its_default(machine: Machine) -> None:
    loaded = machine.load()

    assert loaded.settings == Settings(
        **_DEFAULTS,
        storage_root=machine.home / ".mcp_agent_mail",
        database_url=f"sqlite:///{machine.home}/.mcp_agent_mail/mail.sqlite3",
        facades_project=f"{machine.home}/.mcp_agent_mail/neighbours",
        **RESERVATIONS,
        notifications_signals_dir=machine.home / ".mcp_agent_mail" / "signals",
        backup_dir=machine.home / ".mcp_agent_mail-backups",
    )
    assert loaded.notices == ()
    assert {source.place for source in loaded.sources.values()} == {"default"}


_PROVIDERS = "OPENAI ANTHROPIC GROQ XAI GROK GOOGLE GEMINI OPENROUTER DEEPSEEK".split()

_GOOD: dict[str, tuple[str, object]] = {
    "APP_ENVIRONMENT": ("staging-2", "staging-2"),
    "STORAGE_ROOT": ("/srv/x/../mail", Path("/srv/mail")),
    "DATABASE_URL": ("sqlite+aiosqlite:////srv/m.db", "sqlite:////srv/m.db"),
    "DATABASE_ECHO": ("YES", True),
    "SHUTDOWN_TIMEOUT_SECONDS": ("600", 600),
    "STORE_MAX_BYTES": ("1MiB", 2**20),
    "STORE_MIN_FREE_BYTES": ("0", 0),
    "TEST_FIXTURES_ENABLED": ("true", True),
    "HTTP_HOST": ("[::1]", "::1"),
    "HTTP_PORT": ("0", 0),
    "HTTP_PATH": ("/a/b/", "/a/b"),
    "HTTP_ALLOWED_HOSTS": ("Mail.Example:8443, [::1] ,", ("mail.example:8443", "[::1]")),
    "HTTP_REQUEST_LOG_ENABLED": ("on", True),
    "HTTP_FAST_PATH_ENABLED": ("off", False),
    "HTTP_PUBLIC_URL": ("https://mail.example", "https://mail.example"),
    "HTTP_TRUSTED_PROXIES": ("127.0.0.1", ("127.0.0.1/32",)),
    "HTTP_MAX_CONNECTIONS": ("100", 100),
    "HTTP_MAX_CALLS": ("8", 8),
    "HTTP_CORS_ENABLED": ("true", True),
    "HTTP_CORS_ORIGINS": ("https://a.example", ("https://a.example",)),
    "HTTP_BEARER_ROLE": ("READER", "reader"),
    "HTTP_RBAC_ENABLED": ("no", False),
    "HTTP_RBAC_READER_ROLES": ("look, see", ("look", "see")),
    "HTTP_RBAC_WRITER_ROLES": ("do", ("do",)),
    "HTTP_RBAC_OPERATOR_ROLES": ("boss", ("boss",)),
    "HTTP_RBAC_DEFAULT_ROLE": ("none", "none"),
    "HTTP_JWT_ENABLED": ("true", True),
    "HTTP_JWT_SECRET": ("k" * 32, Secret("k" * 32)),
    "HTTP_JWT_JWKS_URL": ("https://id.example/keys", "https://id.example/keys"),
    "HTTP_JWT_ALGORITHMS": ("hs512", ("HS512",)),
    "HTTP_JWT_AUDIENCE": ("mail,post", ("mail", "post")),
    "HTTP_JWT_ISSUER": ("https://id.example/", "https://id.example/"),
    "HTTP_JWT_ROLE_CLAIM": ("realm_access.roles", "realm_access.roles"),
    "HTTP_JWT_AGENT_CLAIM": ("https://a.example/agent", "https://a.example/agent"),
    "HTTP_RATE_LIMIT_ENABLED": ("on", True),
    "HTTP_RATE_LIMIT_PER_MINUTE": ("0", 0),
    "HTTP_RATE_LIMIT_TOOLS_PER_MINUTE": ("1000000", 1_000_000),
    "HTTP_RATE_LIMIT_TOOLS_BURST": ("7", 7),
    "HTTP_RATE_LIMIT_RESOURCES_PER_MINUTE": ("60", 60),
    "HTTP_RATE_LIMIT_RESOURCES_BURST": ("1", 1),
    "AGENT_AUTH": ("Strict", "strict"),
    "PROJECT_ADMISSION": ("Member", "member"),
    "HTTP_BEARER_TOKEN": (TOKEN, Secret(TOKEN)),
    "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": ("1", True),
    "PROJECT_IDENTITY_MODE": ("Git-Remote", "git-remote"),
    "PROJECT_IDENTITY_REMOTE": ("upstream", "upstream"),
    "GIT_AUTHOR_NAME": ("Grace Hopper", "Grace Hopper"),
    "GIT_AUTHOR_EMAIL": ("g@navy.example", "g@navy.example"),
    "ARCHIVE_COMMIT_INTERVAL_MS": ("50", 50),
    "ARCHIVE_LOCATION": ("workspace", "workspace"),
    "ARCHIVE_MAX_TRACKED_FILES": ("1000", 1_000),
    "AGENT_NAME_ENFORCEMENT_MODE": ("coerce", "coerce"),
    "MESSAGE_BODY_MAX_BYTES": ("3 MiB", 3 * 2**20),
    "CONVERT_IMAGES": ("no", False),
    "KEEP_ORIGINAL_IMAGES": ("yes", True),
    "INLINE_IMAGE_MAX_BYTES": ("0", 0),
    "ATTACHMENT_MAX_BYTES": ("1GiB", 2**30),
    "IMAGE_MAX_PIXELS": ("1000000000", 1_000_000_000),
    "ALLOW_ABSOLUTE_ATTACHMENT_PATHS": ("on", True),
    "QUOTA_ATTACHMENTS_LIMIT_BYTES": ("5GiB", 5 * 2**30),
    "CONTACT_ENFORCEMENT_ENABLED": ("no", False),
    "CONTACT_AUTO_SCOPE": ("Context", "context"),
    "CONTACT_AUTO_TTL_SECONDS": ("60", 60),
    "MESSAGING_AUTO_HANDSHAKE_ON_BLOCK": ("off", False),
    "FILE_RESERVATION_INACTIVITY_SECONDS": ("60", 60),
    "FILE_RESERVATION_ACTIVITY_GRACE_SECONDS": ("0", 0),
    "FILE_RESERVATIONS_CLEANUP_ENABLED": ("no", False),
    "FILE_RESERVATIONS_CLEANUP_INTERVAL_SECONDS": ("3600", 3600),
    "FILE_RESERVATIONS_ENFORCEMENT_ENABLED": ("no", False),
    "LISTENING_WINDOW_SECONDS": ("5", 5),
    "WEBHOOK_URLS": (
        "https://a.example/x?y=1, http://[::1]:8080",
        (SecretAddress("https://a.example/x?y=1"), SecretAddress("http://[::1]:8080")),
    ),
    "WEBHOOK_SECRET": ("k" * 32, Secret("k" * 32)),
    "WEBHOOK_ALLOW_PRIVATE": ("yes", True),
    "BACKUP_DIR": ("/srv/backups", Path("/srv/backups")),
    "QUOTA_ENABLED": ("yes", True),
    "QUOTA_INBOX_LIMIT_COUNT": ("10000000", 10_000_000),
    "RETENTION_REPORT_ENABLED": ("yes", True),
    "RETENTION_REPORT_INTERVAL_SECONDS": ("604800", 604_800),
    "RETENTION_PURGE_ENABLED": ("yes", True),
    "RETENTION_MAX_AGE_DAYS": ("1", 1),
    "RETENTION_IGNORE_PROJECT_PATTERNS": ("/srv/*, demo-?,,/srv/*", ("/srv/*", "demo-?")),
    "ACK_TTL_ENABLED": ("no", False),
    "ACK_TTL_SECONDS": ("60", 60),
    "ACK_TTL_SCAN_INTERVAL_SECONDS": ("3600", 3600),
    "ACK_ESCALATION_ENABLED": ("yes", True),
    "ACK_ESCALATION_MODE": ("Mail", "mail"),
    "ACK_ESCALATION_CLAIM_TTL_SECONDS": ("2592000", 2_592_000),
    "ACK_ESCALATION_CLAIM_EXCLUSIVE": ("yes", True),
    "ACK_ESCALATION_CLAIM_HOLDER_NAME": ("GreenCastle", "GreenCastle"),
    "NOTIFICATIONS_ENABLED": ("yes", True),
    "NOTIFICATIONS_SIGNALS_DIR": ("/srv/./signals", Path("/srv/signals")),
    "NOTIFICATIONS_INCLUDE_METADATA": ("no", False),
    "NOTIFICATIONS_DEBOUNCE_MS": ("0", 0),
    "WAITERS_MAX": ("10", 10),
    "FEED_KEEP_DAYS": ("3650", 3_650),
    "TOOLS_FILTER_ENABLED": ("no", False),
    "TOOLS_FILTER_PROFILE": ("Core", "core"),
    "TOOLS_FILTER_MODE": ("EXCLUDE", "exclude"),
    "TOOLS_FILTER_CLUSTERS": ("Search, contact,search", ("search", "contact")),
    "TOOLS_FILTER_TOOLS": ("send_message", ("send_message",)),
    "WEB_ENABLED": ("no", False),
    "CUSTOM_TOOLS": ("shift,Acme.tools", ("shift", "Acme.tools")),
    "AGENTMAIL_ENABLED": ("yes", True),
    "CLAIMS_ENABLED": ("yes", True),
    "CLAUDE_MAILBOX_DELETE_AFTER_MINUTES": ("0", 0),
    "CLAUDE_MAILBOX_ENABLED": ("on", True),
    "CLAUDE_MAILBOX_HIDE_AFTER_MINUTES": ("60", 60),
    "CLAUDE_MAILBOX_PORTS": (" 47822 , 0,", (47_822, 0)),
    "CLAUDE_MAILBOX_SWEEP_INTERVAL_MINUTES": ("10080", 10_080),
    "CLAUDE_MAILBOX_URL": ("http://localhost:47822", "http://localhost:47822"),
    "FACADES_HOST": ("::1", "::1"),
    "FACADES_PROJECT": ("/srv/mail/", "/srv/mail"),
    "FACADES_MAILBOXES_MAX": ("10", 10),
    "POSTAL_ENABLED": ("on", True),
    "POSTAL_PORT": ("7777", 7_777),
    "POSTAL_MAX_WAIT_SECONDS": ("0", 0),
    "POSTAL_MAILBOX_MAX": ("1", 1),
    "MCP_AGENT_MAIL_OUTPUT_FORMAT": ("TOON", "toon"),
    "LLM_ENABLED": ("no", False),
    "LLM_DEFAULT_MODEL": ("openrouter/meta-llama/llama-3:free", "openrouter/meta-llama/llama-3:free"),
    "LLM_API_BASE": ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
    "LLM_TEMPERATURE": ("2", 2.0),
    "LLM_MAX_TOKENS": ("16", 16),
    "LLM_TIMEOUT_SECONDS": ("300", 300),
    "LLM_DAILY_BUDGET_USD": ("0.25", 0.25),
    "LLM_CACHE_ENABLED": ("off", False),
    "LLM_CACHE_BACKEND": ("Redis", "redis"),
    "LLM_CACHE_REDIS_URL": ("redis://:pass@127.0.0.1:6379/0", Secret("redis://:pass@127.0.0.1:6379/0")),
    "LLM_COST_LOGGING_ENABLED": ("n", False),
    **{f"{provider}_API_KEY": ("any key of theirs", Secret("any key of theirs")) for provider in _PROVIDERS},
    "LOG_LEVEL": ("debug", "DEBUG"),
    "LOG_RICH_ENABLED": ("off", False),
    "LOG_JSON_ENABLED": ("t", True),
    "TOOLS_LOG_ENABLED": ("y", True),
    "INSTRUMENTATION_ENABLED": ("y", True),
    "INSTRUMENTATION_SLOW_QUERY_MS": ("1", 1),
    "TOOL_METRICS_EMIT_ENABLED": ("y", True),
    "TOOL_METRICS_EMIT_INTERVAL_SECONDS": ("5", 5),
    "HTTP_OTEL_ENABLED": ("off", False),
    "OTEL_SERVICE_NAME": ("our mail/eu", "our mail/eu"),
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("http://[::1]:4318", "http://[::1]:4318"),
    "AGENT_MAIL_ENV_FILE": ("/dev/null", Path("/dev/null")),
    "AGENT_MAIL_URL": ("https://mail.example/mcp", "https://mail.example/mcp"),
    "AGENT_MAIL_TOKEN": (TOKEN, Secret(TOKEN)),
    "AGENT_MAIL_AGENT_TOKEN": (TOKEN, Secret(TOKEN)),
    "AGENT_MAIL_PROJECT": ("/srv/code/", "/srv/code"),
    "AGENT_NAME": ("BlueLake", "BlueLake"),
    "AGENT_MAIL_GUARD_MODE": ("Advisory", "warn"),
    "AGENT_MAIL_GUARD_REQUIRE_NAME": ("1", "true"),
    "AGENT_MAIL_GUARD_ON_ERROR": ("BLOCK", "block"),
    "AGENT_MAIL_BYPASS": ("1", True),
    "AGENT_MAIL_INTERVAL": ("0", 0),
    "MCP_AGENT_MAIL_WINDOW_TTL_DAYS": ("7", 7),
    "AGENTMAIL_NAME": (" agent 1 ", "agent 1"),
    "MCP_AGENT_MAIL_WINDOW_ID": (WINDOW, WINDOW),
}

_NEEDED = {
    "WEBHOOK_URLS": {"WEBHOOK_SECRET": "k" * 32},
    "HTTP_JWT_ENABLED": {"HTTP_JWT_SECRET": "k" * 32},
}
"""What else must be given."""

_BAD = [
    ("WEBHOOK_URLS", "ftp://mail.example/"),
    ("WEBHOOK_URLS", "https://user:password@mail.example/"),
    ("WEBHOOK_URLS", "https://mail.example/#part"),
    ("WEBHOOK_URLS", "https://mail.example:0/"),
    ("WEBHOOK_URLS", "https://mail.example:99999/"),
    ("WEBHOOK_URLS", "https://mäil.example/"),
    ("WEBHOOK_URLS", "https://mail.example/a b"),
    ("WEBHOOK_URLS", "https:///hook"),
    ("WEBHOOK_URLS", ","),
    ("WEBHOOK_URLS", ",".join(f"https://mail.example/{number}" for number in range(17))),
    ("WEBHOOK_SECRET", "k" * 31),
    ("WEBHOOK_SECRET", "two words " * 5),
    ("WEBHOOK_ALLOW_PRIVATE", "maybe"),
    ("MCP_AGENT_MAIL_WINDOW_TTL_DAYS", "0"),
    ("AGENTMAIL_NAME", "x" * 129),
    ("MCP_AGENT_MAIL_WINDOW_ID", "window-1"),
    ("APP_ENVIRONMENT", "two words"),
    ("STORAGE_ROOT", "~root/x"),
    ("STORAGE_ROOT", "/dev/null"),
    ("DATABASE_URL", "postgresql://u:p@db/mail"),
    ("DATABASE_URL", "sqlite://mail.db"),
    ("DATABASE_URL", "sqlite:///:memory:"),
    ("DATABASE_URL", "sqlite:///mail.db?mode=ro"),
    ("DATABASE_URL", "/"),
    ("DATABASE_ECHO", "2"),
    ("SHUTDOWN_TIMEOUT_SECONDS", "0"),
    ("SHUTDOWN_TIMEOUT_SECONDS", "601"),
    ("SHUTDOWN_TIMEOUT_SECONDS", "8.5"),
    ("STORE_MAX_BYTES", "1048575"),
    ("STORE_MAX_BYTES", "0"),
    ("STORE_MIN_FREE_BYTES", "-1"),
    ("STORE_MIN_FREE_BYTES", "10%"),
    ("TEST_FIXTURES_ENABLED", "maybe"),
    ("HTTP_HOST", "mail.example"),
    ("HTTP_HOST", "127.1.1.1.1"),
    ("HTTP_PORT", "-1"),
    ("HTTP_PORT", "65536"),
    ("HTTP_PORT", "٣"),
    ("HTTP_PATH", "mcp"),
    ("HTTP_PATH", "/"),
    ("HTTP_PATH", "/a/../b"),
    ("HTTP_PATH", "/rpc/x"),
    ("HTTP_PATH", "/health"),
    ("HTTP_ALLOWED_HOSTS", "https://mail.example"),
    ("HTTP_ALLOWED_HOSTS", "*"),
    ("HTTP_ALLOWED_HOSTS", ","),
    ("HTTP_REQUEST_LOG_ENABLED", "ja"),
    ("HTTP_FAST_PATH_ENABLED", "nein"),
    ("HTTP_PUBLIC_URL", "mail.example"),
    ("HTTP_TRUSTED_PROXIES", "proxy.example"),
    ("HTTP_MAX_CONNECTIONS", "99"),
    ("HTTP_MAX_CALLS", "7"),
    ("HTTP_CORS_ENABLED", "perhaps"),
    ("HTTP_CORS_ORIGINS", "a.example"),
    ("HTTP_BEARER_ROLE", "none"),
    ("HTTP_RBAC_ENABLED", "perhaps"),
    ("HTTP_RBAC_READER_ROLES", ","),
    ("HTTP_RBAC_WRITER_ROLES", "x" * 201),
    ("HTTP_RBAC_OPERATOR_ROLES", "a\x07b"),
    ("HTTP_RBAC_DEFAULT_ROLE", "operator"),
    ("HTTP_JWT_ENABLED", "perhaps"),
    ("HTTP_JWT_SECRET", "k" * 31),
    ("HTTP_JWT_JWKS_URL", "http://id.example/keys"),
    ("HTTP_JWT_ALGORITHMS", "none"),
    ("HTTP_JWT_AUDIENCE", ","),
    ("HTTP_JWT_ISSUER", "x" * 201),
    ("HTTP_JWT_ROLE_CLAIM", "two words"),
    ("HTTP_JWT_AGENT_CLAIM", "x" * 201),
    ("HTTP_RATE_LIMIT_ENABLED", "perhaps"),
    ("HTTP_RATE_LIMIT_PER_MINUTE", "-1"),
    ("HTTP_RATE_LIMIT_TOOLS_PER_MINUTE", "1000001"),
    ("HTTP_RATE_LIMIT_TOOLS_BURST", "x"),
    ("HTTP_RATE_LIMIT_RESOURCES_PER_MINUTE", "-1"),
    ("HTTP_RATE_LIMIT_RESOURCES_BURST", "1.5"),
    ("AGENT_AUTH", "closed"),
    ("PROJECT_ADMISSION", "closed"),
    ("HTTP_BEARER_TOKEN", "two words"),
    ("HTTP_BEARER_TOKEN", "pässword-pässword"),
    ("HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED", "maybe"),
    ("PROJECT_IDENTITY_MODE", "git"),
    ("PROJECT_IDENTITY_REMOTE", "-c x"),
    ("GIT_AUTHOR_NAME", "a <b>"),
    ("GIT_AUTHOR_NAME", "a\nb"),
    ("GIT_AUTHOR_EMAIL", "<a@b>"),
    ("ARCHIVE_COMMIT_INTERVAL_MS", "49"),
    ("ARCHIVE_COMMIT_INTERVAL_MS", "60001"),
    ("ARCHIVE_LOCATION", "elsewhere"),
    ("ARCHIVE_MAX_TRACKED_FILES", "999"),
    ("ARCHIVE_MAX_TRACKED_FILES", "1000001"),
    ("AGENT_NAME_ENFORCEMENT_MODE", "nice"),
    ("MESSAGE_BODY_MAX_BYTES", "1023"),
    ("MESSAGE_BODY_MAX_BYTES", "4MiB"),
    ("MESSAGE_BODY_MAX_BYTES", "1MB"),
    ("CONVERT_IMAGES", "often"),
    ("KEEP_ORIGINAL_IMAGES", "-"),
    ("INLINE_IMAGE_MAX_BYTES", "2MiB"),
    ("ATTACHMENT_MAX_BYTES", "1023"),
    ("ATTACHMENT_MAX_BYTES", "2GiB"),
    ("IMAGE_MAX_PIXELS", "9999"),
    ("IMAGE_MAX_PIXELS", "1000000001"),
    ("ALLOW_ABSOLUTE_ATTACHMENT_PATHS", "sometimes"),
    ("QUOTA_ATTACHMENTS_LIMIT_BYTES", "-1"),
    ("CONTACT_ENFORCEMENT_ENABLED", "perhaps"),
    ("CONTACT_AUTO_SCOPE", "everyone"),
    ("CONTACT_AUTO_TTL_SECONDS", "59"),
    ("MESSAGING_AUTO_HANDSHAKE_ON_BLOCK", "2 days"),
    ("FILE_RESERVATION_INACTIVITY_SECONDS", "59"),
    ("FILE_RESERVATION_ACTIVITY_GRACE_SECONDS", "86401"),
    ("FILE_RESERVATIONS_CLEANUP_ENABLED", "often"),
    ("FILE_RESERVATIONS_CLEANUP_INTERVAL_SECONDS", "4"),
    ("FILE_RESERVATIONS_ENFORCEMENT_ENABLED", "often"),
    ("WAITERS_MAX", "9"),
    ("WAITERS_MAX", "50001"),
    ("FEED_KEEP_DAYS", "0"),
    ("FEED_KEEP_DAYS", "3651"),
    ("LISTENING_WINDOW_SECONDS", "4"),
    ("LISTENING_WINDOW_SECONDS", "3601"),
    ("BACKUP_DIR", "~/.mcp_agent_mail/backups"),
    ("QUOTA_ENABLED", "often"),
    ("QUOTA_INBOX_LIMIT_COUNT", "-1"),
    ("RETENTION_REPORT_ENABLED", "often"),
    ("RETENTION_REPORT_INTERVAL_SECONDS", "59"),
    ("RETENTION_PURGE_ENABLED", "often"),
    ("RETENTION_MAX_AGE_DAYS", "0"),
    ("RETENTION_IGNORE_PROJECT_PATTERNS", "a\x01b"),
    ("ACK_TTL_ENABLED", "often"),
    ("ACK_TTL_SECONDS", "59"),
    ("ACK_TTL_SCAN_INTERVAL_SECONDS", "4"),
    ("ACK_ESCALATION_ENABLED", "often"),
    ("ACK_ESCALATION_MODE", "siren"),
    ("ACK_ESCALATION_CLAIM_TTL_SECONDS", "59"),
    ("ACK_ESCALATION_CLAIM_EXCLUSIVE", "often"),
    ("ACK_ESCALATION_CLAIM_HOLDER_NAME", "1st"),
    ("NOTIFICATIONS_ENABLED", "often"),
    ("NOTIFICATIONS_SIGNALS_DIR", "~nobody/signals"),
    ("NOTIFICATIONS_INCLUDE_METADATA", "often"),
    ("NOTIFICATIONS_DEBOUNCE_MS", "60001"),
    ("TOOLS_FILTER_ENABLED", "perhaps"),
    ("TOOLS_FILTER_PROFILE", "tiny"),
    ("TOOLS_FILTER_MODE", "only"),
    ("TOOLS_FILTER_CLUSTERS", "mail"),
    ("TOOLS_FILTER_TOOLS", "send_mail"),
    ("WEB_ENABLED", "pages"),
    ("CUSTOM_TOOLS", "shift:tools"),
    ("AGENTMAIL_ENABLED", "agentmail"),
    ("CLAIMS_ENABLED", "claims"),
    ("CLAUDE_MAILBOX_DELETE_AFTER_MINUTES", "5000001"),
    ("CLAUDE_MAILBOX_ENABLED", "mailbox"),
    ("CLAUDE_MAILBOX_HIDE_AFTER_MINUTES", "-1"),
    ("CLAUDE_MAILBOX_PORTS", "47822,65536"),
    ("CLAUDE_MAILBOX_PORTS", "47822,mail"),
    ("CLAUDE_MAILBOX_PORTS", "47822,47822"),
    ("CLAUDE_MAILBOX_PORTS", ","),
    ("CLAUDE_MAILBOX_PORTS", "1,2,3,4,5,6,7,8,9"),
    ("CLAUDE_MAILBOX_SWEEP_INTERVAL_MINUTES", "10081"),
    ("CLAUDE_MAILBOX_URL", "localhost:47822"),
    ("FACADES_HOST", "mail.example"),
    ("FACADES_PROJECT", "/a\x07b"),
    ("FACADES_MAILBOXES_MAX", "9"),
    ("POSTAL_ENABLED", "postal"),
    ("POSTAL_PORT", "65536"),
    ("POSTAL_MAX_WAIT_SECONDS", "301"),
    ("POSTAL_MAILBOX_MAX", "0"),
    ("MCP_AGENT_MAIL_OUTPUT_FORMAT", "xml"),
    ("LLM_ENABLED", "perhaps"),
    ("LLM_DEFAULT_MODEL", "two words"),
    ("LLM_API_BASE", "localhost:11434"),
    ("LLM_TEMPERATURE", "2.1"),
    ("LLM_TEMPERATURE", "-1"),
    ("LLM_TEMPERATURE", "nan"),
    ("LLM_MAX_TOKENS", "15"),
    ("LLM_TIMEOUT_SECONDS", "0"),
    ("LLM_DAILY_BUDGET_USD", "10001"),
    ("LLM_DAILY_BUDGET_USD", "1e3"),
    ("LLM_CACHE_ENABLED", "perhaps"),
    ("LLM_CACHE_BACKEND", "disk"),
    ("LLM_CACHE_REDIS_URL", "127.0.0.1:6379"),
    ("LLM_COST_LOGGING_ENABLED", "perhaps"),
    *((f"{provider}_API_KEY", "two\nlines") for provider in _PROVIDERS),
    ("LOG_LEVEL", "TRACE"),
    ("LOG_RICH_ENABLED", "-"),
    ("LOG_JSON_ENABLED", "-"),
    ("TOOLS_LOG_ENABLED", "-"),
    ("INSTRUMENTATION_ENABLED", "often"),
    ("INSTRUMENTATION_SLOW_QUERY_MS", "0"),
    ("TOOL_METRICS_EMIT_ENABLED", "often"),
    ("TOOL_METRICS_EMIT_INTERVAL_SECONDS", "4"),
    ("HTTP_OTEL_ENABLED", "often"),
    ("OTEL_SERVICE_NAME", "two\nlines"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://one\ttwo"),
    ("AGENT_MAIL_ENV_FILE", "/no/such/file"),
    ("AGENT_MAIL_ENV_FILE", "/"),
    ("AGENT_MAIL_URL", "mail.example"),
    ("AGENT_MAIL_URL", "https://mail.example/mcp?x=1"),
    ("AGENT_MAIL_TOKEN", "a\tb"),
    ("AGENT_MAIL_AGENT_TOKEN", "x" * 4097),
    ("AGENT_MAIL_PROJECT", "/a\x07b"),
    ("AGENT_NAME", "7of9"),
    ("AGENT_MAIL_GUARD_MODE", "off"),
    ("AGENT_MAIL_GUARD_REQUIRE_NAME", "perhaps"),
    ("AGENT_MAIL_GUARD_ON_ERROR", "pass"),
    ("AGENT_MAIL_BYPASS", "perhaps"),
    ("AGENT_MAIL_INTERVAL", "3601"),
]


def test_the_tables_of_good_and_bad_values_cover_every_row() -> None:
    assert _GOOD.keys() == {name for name, _ in _BAD} == {row.name for row in ROWS}


@pytest.mark.parametrize("name", _GOOD)
def test_a_good_value_is_understood(name: str, machine: Machine) -> None:
    text, expected = _GOOD[name]

    settings = machine.settings(**{name: text, **_NEEDED.get(name, {})})

    assert getattr(settings, name.lower()) == expected


@pytest.mark.parametrize(("name", "text"), _BAD)
def test_a_bad_value_is_a_mistake_that_says_what_was_expected(name: str, text: str, machine: Machine) -> None:
    mistakes = machine.mistakes(**{name: text})

    assert [(mistake.name, mistake.place) for mistake in mistakes] == [(name, "environment")]
    assert mistakes[0].expected


def test_database_path_is_the_file_of_the_url(machine: Machine) -> None:
    assert machine.settings(DATABASE_URL="mail.db").database_path == machine.cwd / "mail.db"


def test_settings_can_be_sent_to_a_child_process(machine: Machine) -> None:
    settings = machine.settings(HTTP_BEARER_TOKEN=TOKEN)

    assert pickle.loads(pickle.dumps(settings)) == settings


def test_a_secret_is_shown_nowhere(machine: Machine) -> None:
    machine.write_env(f"HTTP_BEARER_TOKEN={TOKEN}\nAGENT_MAIL_TOKEN={TOKEN}\nAGENT_MAIL_AGENT_TOKEN={TOKEN}\n")

    loaded = machine.load()

    assert TOKEN not in f"{loaded!r} {loaded.settings} {dataclasses.asdict(loaded.settings)}"
    assert loaded.sources["HTTP_BEARER_TOKEN"].shown == "***"
    assert loaded.settings.http_bearer_token is not None
    assert loaded.settings.http_bearer_token.reveal() == TOKEN


@pytest.mark.parametrize(
    "name", ["HTTP_BEARER_TOKEN", "HTTP_BEARER_TOKN", "INTEGRATION_BEARER_TOKEN", "HTTP_JWT_SECRET"]
)
def test_a_secret_on_a_line_that_is_misread_is_not_quoted(name: str, machine: Machine) -> None:
    machine.write_env(f"HTTP_PORT=1\nexport {name}=hidden-value # comment\n")

    with pytest.raises(SettingsError) as refused:
        machine.load()

    assert "hidden" not in str(refused.value)


def test_a_password_in_a_url_is_masked(machine: Machine) -> None:
    loaded = machine.load({"AGENT_MAIL_URL": "https://me:hidden@mail.example/mcp"})
    (mistake,) = machine.mistakes(DATABASE_URL="postgresql://me:hidden@db/mail")

    assert loaded.sources["AGENT_MAIL_URL"].shown == "https://***@mail.example/mcp"
    assert mistake.value == "'postgresql://***@db/mail'"


def test_a_file_with_secrets_that_others_can_read_is_warned_of(machine: Machine) -> None:
    machine.write_env(f"HTTP_BEARER_TOKEN={TOKEN}\n", mode=0o644)
    open_to_others = machine.notices()
    machine.write_env(f"HTTP_BEARER_TOKEN={TOKEN}\n", mode=0o600)

    assert (open_to_others, machine.notices()) == ([("warning", "HTTP_BEARER_TOKEN")], [])


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (
            "https://a.example/T0/s3cret,http://b.example:8080?k=s3cret",
            "https://a.example/***,http://b.example:8080/***",
        ),
        ("https://a.example/,https://a.example", "https://a.example/,https://a.example"),
        ("HTTPS://[2606:4700::1111]/s3cret", "HTTPS://[2606:4700::1111]/***"),
    ],
)
def test_of_a_webhook_the_host_is_shown_and_no_path(given: str, shown: str, machine: Machine) -> None:
    loaded = machine.load({"WEBHOOK_URLS": given, "WEBHOOK_SECRET": "k" * 32})
    (without_secret,) = machine.mistakes(WEBHOOK_URLS=given)

    assert loaded.sources["WEBHOOK_URLS"].shown == shown
    for told in (repr(loaded.settings), str(loaded), str(dataclasses.asdict(loaded.settings))):
        assert "s3cret" not in told
        assert "k" * 32 not in told
    assert without_secret.value == repr(shown)


@pytest.mark.parametrize("name", ["WEBHOOK_URLS", "WEBHOOK_URL"])
@pytest.mark.parametrize(
    "given",
    [
        "hooks.example/s3cret",
        "https://user:s3cret/x@mail.example/",
        "https://a.example/x,s3cret",
        "https:a.example/s3cret",
        "ftp://a.example/s3cret",
        "https://a.example\\s3cret",
    ],
)
def test_no_path_of_a_mistyped_webhook_is_shown(name: str, given: str, machine: Machine) -> None:
    assert "s3cret" not in shown_text(name, given)
    if name == "WEBHOOK_URLS":
        assert "s3cret" not in str(machine.mistakes(WEBHOOK_URLS=given, WEBHOOK_SECRET="k" * 32))
