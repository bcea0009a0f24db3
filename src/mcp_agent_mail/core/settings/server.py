"""The server's settings: read once at start into one frozen object, every mistake told at once.

Order: command line, environment, ONE `.env`, default. python-decouple reads the file, through
`RepositoryEnv` and never AutoConfig, which climbs to the parents of the current folder. The
environment is handed in, because decouple's own look at `os.environ` would put an empty variable
before a filled-in line and could not be tested.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from decouple import Config, RepositoryEnv

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.checks import check_names, check_together
from mcp_agent_mail.core.settings.env_file import ENCODING
from mcp_agent_mail.core.settings.kinds import Secret, shown
from mcp_agent_mail.core.settings.rows import ROWS
from mcp_agent_mail.core.settings.sources import (
    COMMAND_LINE,
    DEFAULT,
    SettingFindings,
    SettingNotice,
    SettingsError,
    open_sources,
    parse_rows,
)
from mcp_agent_mail.core.settings.url_text import SecretAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One attribute per row of `core.settings.rows`, in lower case. Safe to print and to send to a child process."""

    app_environment: str
    storage_root: Path
    database_url: str
    database_echo: bool
    shutdown_timeout_seconds: int
    store_max_bytes: int
    store_min_free_bytes: int
    test_fixtures_enabled: bool
    http_host: str
    http_port: int
    http_path: str
    http_allowed_hosts: tuple[str, ...]
    http_request_log_enabled: bool
    http_fast_path_enabled: bool
    web_enabled: bool
    http_public_url: str | None
    http_trusted_proxies: tuple[str, ...] | None
    http_max_connections: int
    http_max_calls: int
    http_cors_enabled: bool
    http_cors_origins: tuple[str, ...] | None
    facades_host: str
    facades_project: str
    facades_mailboxes_max: int
    postal_enabled: bool
    postal_port: int
    postal_max_wait_seconds: int
    postal_mailbox_max: int
    agentmail_enabled: bool
    claude_mailbox_enabled: bool
    claude_mailbox_ports: tuple[int, ...]
    claude_mailbox_hide_after_minutes: int
    claude_mailbox_delete_after_minutes: int
    claude_mailbox_sweep_interval_minutes: int
    agent_auth: str
    project_admission: str
    http_bearer_token: Secret | None
    http_allow_localhost_unauthenticated: bool
    http_bearer_role: str
    http_rbac_enabled: bool
    http_rbac_reader_roles: tuple[str, ...]
    http_rbac_writer_roles: tuple[str, ...]
    http_rbac_operator_roles: tuple[str, ...]
    http_rbac_default_role: str
    http_jwt_enabled: bool
    http_jwt_secret: Secret | None
    http_jwt_jwks_url: str | None
    http_jwt_algorithms: tuple[str, ...]
    http_jwt_audience: tuple[str, ...] | None
    http_jwt_issuer: str | None
    http_jwt_role_claim: str
    http_jwt_agent_claim: str
    http_rate_limit_enabled: bool
    http_rate_limit_per_minute: int
    http_rate_limit_tools_per_minute: int
    http_rate_limit_tools_burst: int
    http_rate_limit_resources_per_minute: int
    http_rate_limit_resources_burst: int
    project_identity_mode: str
    project_identity_remote: str
    mcp_agent_mail_window_ttl_days: int
    git_author_name: str
    git_author_email: str
    archive_commit_interval_ms: int
    archive_location: str
    archive_max_tracked_files: int
    agent_name_enforcement_mode: str
    message_body_max_bytes: int
    contact_enforcement_enabled: bool
    contact_auto_scope: str
    contact_auto_ttl_seconds: int
    messaging_auto_handshake_on_block: bool
    convert_images: bool
    keep_original_images: bool
    inline_image_max_bytes: int
    attachment_max_bytes: int
    image_max_pixels: int
    allow_absolute_attachment_paths: bool
    file_reservation_inactivity_seconds: int
    file_reservation_activity_grace_seconds: int
    file_reservations_cleanup_enabled: bool
    file_reservations_cleanup_interval_seconds: int
    file_reservations_enforcement_enabled: bool
    waiters_max: int
    feed_keep_days: int
    listening_window_seconds: int
    webhook_urls: tuple[SecretAddress, ...] | None
    webhook_secret: Secret | None
    webhook_allow_private: bool
    backup_dir: Path
    quota_enabled: bool
    quota_inbox_limit_count: int
    quota_attachments_limit_bytes: int
    retention_report_enabled: bool
    retention_report_interval_seconds: int
    retention_purge_enabled: bool
    retention_max_age_days: int
    retention_ignore_project_patterns: tuple[str, ...] | None
    ack_ttl_enabled: bool
    ack_ttl_seconds: int
    ack_ttl_scan_interval_seconds: int
    ack_escalation_enabled: bool
    ack_escalation_mode: str
    ack_escalation_claim_ttl_seconds: int
    ack_escalation_claim_exclusive: bool
    ack_escalation_claim_holder_name: str
    notifications_enabled: bool
    notifications_signals_dir: Path
    notifications_include_metadata: bool
    notifications_debounce_ms: int
    tools_filter_enabled: bool
    tools_filter_profile: str
    tools_filter_mode: str
    tools_filter_clusters: tuple[str, ...] | None
    tools_filter_tools: tuple[str, ...] | None
    custom_tools: tuple[str, ...] | None
    claims_enabled: bool
    mcp_agent_mail_output_format: str
    llm_enabled: bool
    llm_default_model: str | None
    llm_api_base: str | None
    llm_temperature: float
    llm_max_tokens: int
    llm_timeout_seconds: int
    llm_daily_budget_usd: float
    llm_cache_enabled: bool
    llm_cache_backend: str
    llm_cache_redis_url: Secret | None
    llm_cost_logging_enabled: bool
    openai_api_key: Secret | None
    anthropic_api_key: Secret | None
    groq_api_key: Secret | None
    xai_api_key: Secret | None
    grok_api_key: Secret | None
    google_api_key: Secret | None
    gemini_api_key: Secret | None
    openrouter_api_key: Secret | None
    deepseek_api_key: Secret | None
    log_level: str
    log_rich_enabled: bool
    log_json_enabled: bool
    tools_log_enabled: bool
    instrumentation_enabled: bool
    instrumentation_slow_query_ms: int
    tool_metrics_emit_enabled: bool
    tool_metrics_emit_interval_seconds: int
    http_otel_enabled: bool
    otel_service_name: str
    otel_exporter_otlp_endpoint: str | None
    agent_mail_env_file: Path | None
    agent_mail_url: str | None
    agent_mail_token: Secret | None
    agent_mail_agent_token: Secret | None
    agent_mail_project: str | None
    agent_name: str | None
    agent_mail_guard_mode: str
    agent_mail_guard_require_name: str
    agent_mail_guard_on_error: str
    agent_mail_bypass: bool
    agent_mail_interval: int
    mcp_agent_mail_window_id: str | None
    agentmail_name: str | None
    claude_mailbox_url: str | None

    @property
    def database_path(self) -> Path:
        """The file that `database_url` names."""
        return Path(self.database_url.removeprefix("sqlite:///"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a setting's value comes from, and the value as people may see it."""

    place: str
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    settings: Settings
    sources: Mapping[str, Source]
    notices: tuple[SettingNotice, ...]
    passed_over: SettingNotice | None = None


def load_settings(
    environ: Mapping[str, str],
    *,
    cwd: Path,
    overrides: Mapping[str, str] | None = None,
    env_file: Path | None = None,
    overridden_by: str = COMMAND_LINE,
) -> LoadedSettings:
    """Read every setting. `overrides` is the command line, by the settings' names, or what else `overridden_by` says;
    `env_file` is `--env-file`.

    Nothing is opened but the `.env`. Raises SettingsError with all mistakes at once.
    """
    overrides = overrides or {}
    rows_by_name = {row.name: row for row in ROWS}
    assert overrides.keys() <= rows_by_name.keys(), f"no such settings: {overrides.keys() - rows_by_name.keys()}"
    findings = SettingFindings()
    sources = open_sources(
        environ,
        findings,
        overrides=overrides,
        env_file=env_file,
        cwd=cwd,
        read_values=_values_by_decouple,
        overridden_by=overridden_by,
    )
    values, givens = parse_rows(ROWS, sources, findings)
    check_together(values, givens, findings)
    check_names(sources, findings)
    if findings.mistakes:
        raise SettingsError(findings.mistakes, findings.notices)
    # Any: the rows' kinds made these values; a test compares their types with the fields above.
    attributes: dict[str, Any] = {row.attribute: values[row.name] for row in ROWS}
    return LoadedSettings(
        settings=Settings(**attributes),
        sources={
            name: Source(
                place=givens[name].place if name in givens else DEFAULT,
                shown=shown(value),
            )
            for name, value in values.items()
        },
        notices=tuple(findings.notices),
        passed_over=findings.passed_over,
    )


def _values_by_decouple(path: Path) -> Mapping[str, str]:
    config = Config(RepositoryEnv(str(path), encoding=ENCODING))
    values: dict[str, str] = config.repository.data
    return values
