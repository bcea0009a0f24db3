"""The settings of what tools look like to a client: profiles and output formats. Standard library only."""

from __future__ import annotations

from mcp_agent_mail.core.profiles import CLUSTERS, TOOLS
from mcp_agent_mail.core.setting_row import Row
from mcp_agent_mail.core.settings import kinds

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
        kind=kinds.several_of("cluster", CLUSTERS),
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
        name="MCP_AGENT_MAIL_OUTPUT_FORMAT",
        kind=kinds.one_of("json", "toon", "md"),
        default="json",
        does="How results are written unless a connection or call asks for another form.",
        group="Tools and formats",
    ),
)
