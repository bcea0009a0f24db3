"""Below which paths a server answers MCP, and an address with and without one. No import at all: hooks load it."""

from __future__ import annotations

MCP_PATHS = ("/mcp", "/api")
"""Always; HTTP_PATH may be one more."""


def without_mcp_path(url: str, http_path: str) -> str:
    """The address of the server itself, of one that a person gave: clients' settings have it with a path."""
    bare = url.rstrip("/")
    path = _path_at_end(bare, http_path)
    return bare.removesuffix(path) if path else bare


def with_mcp_path(url: str, http_path: str) -> str:
    """The address at which MCP is spoken: as it was given, if it ends in such a path."""
    bare = url.rstrip("/")
    return bare if _path_at_end(bare, http_path) else f"{bare}{MCP_PATHS[0]}"


def _path_at_end(bare: str, http_path: str) -> str:
    return next((path for path in (*MCP_PATHS, http_path.rstrip("/")) if path and bare.endswith(path)), "")
