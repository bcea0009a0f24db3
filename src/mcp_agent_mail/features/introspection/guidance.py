"""What the directory says of a tool beside its own text: when to use it, what goes with it, an example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import ToolSpec

Frequency = Literal["once", "per session", "often", "rare"]
Complexity = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """`examples` are arguments of calls that the tool's schema accepts, each with what it is for."""

    use_when: str
    related: tuple[str, ...]
    frequency: Frequency
    examples: Mapping[str, Mapping[str, Any]]  # plain JSON values
    complexity: Complexity = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    purpose: str
    tools: Mapping[str, Guidance]


OF_CUSTOM = Guidance(use_when="As its own text says.", related=(), frequency="rare", examples={})
"""Of a tool that another package hands in, of which nobody has written here."""


def capability(spec: ToolSpec) -> str:
    """What a caller must be able to do to use the tool: its cluster, and whether it changes anything."""
    return f"{spec.cluster}:{'read' if spec.read_only else 'write'}"
