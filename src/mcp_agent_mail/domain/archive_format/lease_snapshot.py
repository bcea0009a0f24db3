"""One file per project that says who holds what: for the guard, when no server answers.

It lies beside the archive, not in it: it is written anew at every change, and history has the leases
themselves. Standard library alone, so that the guard can read what stands here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.projects import Project

FORMAT = 1
MAX_LEASES = 20_000
MAX_AGENTS = 10_000

_SUFFIX = ".leases.json"


def snapshot_name(slug: str) -> str:
    return f"{slug}{_SUFFIX}"


def slug_of_snapshot(name: str) -> str | None:
    """Whose snapshot a file of this name is, a half-written one too."""
    name = name.removesuffix(".new")
    return name.removesuffix(_SUFFIX) if name.endswith(_SUFFIX) else None


def render_snapshot(
    project: Project, store_id: str, agents: Sequence[str], leases: Sequence[Lease], as_of: Micros
) -> bytes:
    """`leases` are the live ones of files, newest first; beyond MAX_LEASES the oldest are left out, which is said."""
    value = {
        "format": FORMAT,
        "store_id": store_id,
        "project": {"id": project.id, "slug": project.slug, "human_key": project.human_key},
        "as_of": iso(as_of),
        "truncated": len(leases) > MAX_LEASES,
        "agents": list(agents[:MAX_AGENTS]),
        "leases": [_show(lease) for lease in leases[:MAX_LEASES]],
    }
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _show(lease: Lease) -> dict[str, object]:
    return {
        "id": lease.id,
        "agent": lease.agent,
        "path_pattern": lease.path_pattern,
        "is_folder": lease.is_folder,
        "ignore_case": lease.ignore_case,
        "exclusive": lease.exclusive,
        "reason": lease.reason,
        "expires_ts": iso(lease.expires_ts),
        "fencing": lease.fencing,
    }
