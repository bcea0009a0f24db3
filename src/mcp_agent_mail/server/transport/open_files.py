"""How many connections the system lets this process have: each is an open file."""

from __future__ import annotations

import logging
import resource
from contextlib import suppress

from mcp_agent_mail.server.transport.connection_limits import MAX_CONNECTIONS, RESERVED, ConnectionLimits

logger = logging.getLogger("mcp_agent_mail.http")

OTHER_FILES = 200
"""Files that are not connections: store, searches, archiver, log, workspaces."""


def fitting_limits(wanted: int = MAX_CONNECTIONS) -> ConnectionLimits:
    """Room for as many connections as are `wanted`. The soft limit of open files is raised for them as far as the hard
    one lets it; where that is too few, the log says how many there are.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = wanted + RESERVED + OTHER_FILES
    may_open = files if hard == resource.RLIM_INFINITY else min(files, hard)
    if soft != resource.RLIM_INFINITY and soft < may_open:
        with suppress(OSError, ValueError):  # macOS has a bound of its own below an infinite one.
            resource.setrlimit(resource.RLIMIT_NOFILE, (may_open, hard))
            soft = may_open
    if soft == resource.RLIM_INFINITY or soft >= files:
        return ConnectionLimits(connections=wanted)
    connections = max(RESERVED, soft - OTHER_FILES - RESERVED)
    facts = {"http_max_connections": wanted, "connections": connections, "open_files": soft, "files_needed": files}
    logger.warning("the system allows too few open files for HTTP_MAX_CONNECTIONS", extra={"facts": facts})
    return ConnectionLimits(connections=connections)
