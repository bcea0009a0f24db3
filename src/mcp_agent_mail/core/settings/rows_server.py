"""The settings of what a server tells of its own work (counts, lines, spans) and of the surface that it shows clients.
Standard library only.
"""

from __future__ import annotations

from mcp_agent_mail.core.profiles import CLUSTERS, CUSTOM, TOOLS
from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import BadValue, PathContext, Row, SettingKind

LOG_ROWS = (
    Row(
        name="LOG_LEVEL",
        kind=kinds.one_of("DEBUG", "INFO", "WARNING", "ERROR", upper=True),
        default="INFO",
        does="The least severe lines that are logged. Logs go to stderr.",
        group="Logs",
    ),
    Row(
        name="LOG_RICH_ENABLED",
        kind=kinds.BOOL,
        default="true",
        does="Colour and columns, where stderr is a terminal.",
        group="Logs",
    ),
    Row(
        name="LOG_JSON_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="One JSON object per line. Beats LOG_RICH_ENABLED.",
        group="Logs",
    ),
    Row(
        name="TOOLS_LOG_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Log a line per tool call, never its arguments. Costly under full load.",
        group="Logs",
    ),
)

WATCHING_ROWS = (
    Row(
        name="INSTRUMENTATION_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Count and time the SQL statements of every function that reads or writes, and log the slow ones.",
        group="Watching",
    ),
    Row(
        name="INSTRUMENTATION_SLOW_QUERY_MS",
        kind=kinds.whole(1, 60_000),
        default="250",
        does="From how many milliseconds on a read or a unit of work is logged as slow, never its values.",
        group="Watching",
    ),
    Row(
        name="TOOL_METRICS_EMIT_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Now and then log a line for each tool called meanwhile: calls, errors, durations.",
        group="Watching",
    ),
    Row(
        name="TOOL_METRICS_EMIT_INTERVAL_SECONDS",
        kind=kinds.whole(5, 3_600),
        default="60",
        does="How long such an interval is.",
        group="Watching",
    ),
    Row(
        name="HTTP_OTEL_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Send an OpenTelemetry span for every tool call and resource read. Needs the extra `otel` and "
        "OTEL_EXPORTER_OTLP_ENDPOINT.",
        group="Watching",
    ),
    Row(
        name="OTEL_SERVICE_NAME",
        kind=kinds.LINE,
        default="mcp-agent-mail",
        does="The service's name in spans.",
        group="Watching",
    ),
    Row(
        name="OTEL_EXPORTER_OTLP_ENDPOINT",
        kind=kinds.SHARED_URL,
        default="",
        does="The collector: OTLP over HTTP, `/v1/traces` below this URL. Looked at with HTTP_OTEL_ENABLED only.",
        group="Watching",
    ),
)


_MAX_ENTRY_POINTS = 16


def _entry_points(text: str, context: PathContext) -> tuple[str, ...]:
    """In their order, each once: letter case counts, since the names are those of packages."""
    named = tuple(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))
    for name in named:
        try:
            kinds.WORD.parse(name, context)
        except BadValue:
            raise BadValue(f"{name!r:.100} is none: letters, digits, `_`, `.` and `-`, at most 64.") from None
    if len(named) > _MAX_ENTRY_POINTS:
        raise BadValue(f"Name {_MAX_ENTRY_POINTS} at most.")
    return named


ENTRY_POINTS = SettingKind(label="list", expected="names of entry points with commas between them", parse=_entry_points)

SURFACE_ROWS = (
    Row(
        name="TOOLS_FILTER_ENABLED",
        kind=kinds.BOOL,
        default="true",
        does="Whether TOOLS_FILTER_PROFILE counts; `false` lists every tool. A connection may still choose a profile.",
        group="Tools and formats",
    ),
    Row(
        name="TOOLS_FILTER_PROFILE",
        kind=kinds.one_of("full", "core", "minimal", "messaging", "custom"),
        default="full",
        does="Which tools MCP clients are shown and may call, unless a connection says otherwise.",
        group="Tools and formats",
    ),
    Row(
        name="TOOLS_FILTER_MODE",
        kind=kinds.one_of("include", "exclude"),
        default="include",
        does="Of the profile `custom`: only the tools named below, or all but these.",
        group="Tools and formats",
    ),
    Row(
        name="TOOLS_FILTER_CLUSTERS",
        kind=kinds.several_of("cluster", (*CLUSTERS, CUSTOM)),
        default="",
        does="Of the profile `custom`: clusters of tools, as docs/reference/profiles.md names them.",
        group="Tools and formats",
    ),
    Row(
        name="TOOLS_FILTER_TOOLS",
        kind=kinds.several_of("tool", TOOLS),
        default="",
        does="Of the profile `custom`: single tools.",
        group="Tools and formats",
    ),
    Row(
        name="CUSTOM_TOOLS",
        kind=ENTRY_POINTS,
        default="",
        does="Tools of other packages that are served too, by the names of their entry points in the group "
        "`mcp_agent_mail.tools`. What is not named is not loaded.",
        group="Tools and formats",
    ),
    Row(
        name="CLAIMS_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Serve the profile `claims`: the tools of an earlier system, by their own names, for connections that ask "
        "for it.",
        group="Tools and formats",
    ),
    Row(
        name="MCP_AGENT_MAIL_OUTPUT_FORMAT",
        kind=kinds.one_of("json", "toon", "md"),
        default="json",
        does="How results are written unless a connection or call asks for another form.",
        group="Tools and formats",
    ),
)
