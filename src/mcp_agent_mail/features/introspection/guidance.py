"""What the directory says of a tool beside its own text: when to use it, what goes with it, an example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

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
