"""What the `tooling` resources show."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mcp_agent_mail.core.arguments import TOKEN_ARGUMENTS
from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.profiles import CUSTOM
from mcp_agent_mail.core.tools import Json, ToolSpec
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.introspection.catalogue import CLUSTERS
from mcp_agent_mail.features.introspection.catalogue.workflows import PLAYBOOKS
from mcp_agent_mail.features.introspection.guidance import OF_CUSTOM, Guidance, capability
from mcp_agent_mail.features.introspection.locks import LockState
from mcp_agent_mail.features.introspection.recording import Recording
from mcp_agent_mail.features.introspection.usage import RecentCall, ToolFigures
from mcp_agent_mail.store.engine.instrumentation import FunctionFigures, QueryFigures

METRICS_URI = "resource://tooling/metrics"
MAX_FUNCTIONS_SHOWN = 100
_CUSTOM_PURPOSE = "Tools that this server has beside those of agent mail."
OUTPUT_FORMATS: dict[str, Json] = {
    "default": "json",
    "tool_param": "format",
    "resource_query": "format",
    "values": ["json", "toon", "md"],
    "toon_envelope": {
        "format": "toon",
        "data": "the result as TOON text",
        "meta": {"requested": "toon", "source": "default, header, query or argument"},
    },
}


def show_directory(specs: Sequence[ToolSpec], now: Micros) -> Json:
    """The answer of `tooling/directory`: the tools that clients see, by cluster, and whole workflows less what they do
    not see. Clusters without such a tool are left out.
    """
    by_name = {spec.name: spec for spec in specs}
    clusters = []
    for name, cluster in CLUSTERS.items():
        tools = [_directory_entry(by_name[tool]) for tool in cluster.tools if tool in by_name]
        if tools:
            clusters.append({"name": name, "purpose": cluster.purpose, "tools": tools})
    if custom := [_directory_entry(spec) for spec in specs if spec.cluster == CUSTOM]:
        clusters.append({"name": CUSTOM, "purpose": _CUSTOM_PURPOSE, "tools": custom})
    return {
        "generated_at": iso(now),
        "metrics_uri": METRICS_URI,
        "output_formats": OUTPUT_FORMATS,
        "clusters": clusters,
        "playbooks": [
            {"workflow": workflow, "sequence": [tool for tool in sequence if tool in by_name]}
            for workflow, sequence in PLAYBOOKS.items()
        ],
    }


def _guidance(spec: ToolSpec) -> Guidance:
    return OF_CUSTOM if spec.cluster == CUSTOM else CLUSTERS[spec.cluster].tools[spec.name]


def _directory_entry(spec: ToolSpec) -> Json:
    guidance = _guidance(spec)
    able = [capability(spec)]
    return {
        "name": spec.name,
        "summary": spec.description.split("\n\n")[0].replace("\n", " "),
        "use_when": guidance.use_when,
        "related": list(guidance.related),
        "expected_frequency": guidance.frequency,
        "required_capabilities": able,
        "capabilities": able,
        "usage_examples": [
            {"hint": hint, "sample": f"{spec.name} {json.dumps(arguments)}"}
            for hint, arguments in guidance.examples.items()
        ],
        "complexity": guidance.complexity,
    }


def show_schemas(specs: Sequence[ToolSpec], now: Micros) -> Json:
    """The answer of `tooling/schemas`: each tool's arguments by name. `aliases` is always empty: no tool has any."""
    return {
        "generated_at": iso(now),
        "global_optional": [*TOKEN_ARGUMENTS, "format"],
        "output_formats": OUTPUT_FORMATS,
        "tools": {spec.name: _schema(spec) for spec in specs},
    }


def _schema(spec: ToolSpec) -> Json:
    properties: dict[str, Any] = dict(spec.schema["properties"])  # JSON schemas
    required = spec.schema.get("required", [])
    return {
        "required": list(required),
        "optional": [name for name in properties if name not in required],
        "shapes": properties,
        "aliases": {},
    }


def show_metrics(
    specs: Sequence[ToolSpec], recording: Recording, figures: Callable[[str], ToolFigures], now: Micros
) -> Json:
    """The answer of `tooling/metrics`: calls and durations in milliseconds since the start, null without calls, and
    what queries cost. `figures` gives those of one tool, as far as the caller may know them.
    """
    return {
        "generated_at": iso(now),
        "tools": [_metrics(spec, figures(spec.name)) for spec in specs],
        "queries": _queries(recording.queries),
    }


def _queries(queries: QueryFigures | None) -> Json:
    """By function, the costliest first; `enabled` is false where nothing is counted."""
    if queries is None:
        return {"enabled": False, "slow_query_ms": None, "functions": []}
    functions = [_query(figures) for figures in queries.functions()[:MAX_FUNCTIONS_SHOWN]]
    return {"enabled": True, "slow_query_ms": queries.slow_ms, "functions": functions}


def _query(figures: FunctionFigures) -> Json:
    return {
        "kind": figures.kind,
        "function": figures.function,
        "runs": figures.runs,
        "statements": figures.statements,
        "most_statements": figures.most_statements,
        "total_ms": _ms(figures.total_s),
        "longest_ms": _ms(figures.longest_s),
        "slow": figures.slow,
    }


def _metrics(spec: ToolSpec, figures: ToolFigures) -> Json:
    guidance = _guidance(spec)
    return {
        "name": spec.name,
        "calls": figures.calls,
        "errors": figures.errors,
        "p50_ms": _ms(figures.quantile_s(0.50)),
        "p95_ms": _ms(figures.quantile_s(0.95)),
        "p99_ms": _ms(figures.quantile_s(0.99)),
        "cluster": spec.cluster,
        "capabilities": [capability(spec)],
        "complexity": guidance.complexity,
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1_000, 3)


def show_locks(states: Sequence[LockState]) -> Json:
    """The answer of `tooling/locks`. `stale` and `metadata_missing` are always 0: the kernel frees a lock the instant
    that its holder ends.
    """
    active = sum(state.owner_pid is not None for state in states)
    return {
        "locks": [
            {
                "path": str(state.path),
                "category": state.category,
                "status": "held" if state.owner_pid is not None else "free",
                "owner_pid": state.owner_pid,
                "owner_alive": state.owner_alive,
                "created_ts": iso(state.created_ts),
                "age_seconds": round(state.age_s, 3),
                "stale_suspected": False,
            }
            for state in states
        ],
        "summary": {"total": len(states), "active": active, "stale": 0, "metadata_missing": 0},
    }


def show_capabilities(project: Project, agent: Agent, able: Sequence[str], now: Micros) -> Json:
    """The answer of `tooling/capabilities`: what `able` names, sorted already, for the agent in this project."""
    return {
        "generated_at": iso(now),
        "agent": agent.name,
        "project": project.human_key,
        "capabilities": list(able),
    }


def show_recent(
    calls: Iterable[tuple[RecentCall, Project | None]], clusters: dict[str, str], window_s: int, now: Micros
) -> Json:
    """The answer of `tooling/recent`, in the order of `calls`. `clusters` are by tool; a project that was not found is
    shown as the call named it.
    """
    entries = [
        {
            "timestamp": iso(call.at),
            "tool": call.tool,
            "project": call.project if project is None else project.human_key,
            "agent": call.agent,
            "cluster": clusters.get(call.tool),
            "failed": call.failed,
        }
        for call, project in calls
    ]
    return {"generated_at": iso(now), "window_seconds": window_s, "count": len(entries), "entries": entries}
