"""The directory knows every tool, and its examples are calls that the tools accept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.core import profiles
from mcp_agent_mail.core.arguments import bind
from mcp_agent_mail.core.tools import ToolSpec
from mcp_agent_mail.features.introspection.catalogue import CLUSTERS
from mcp_agent_mail.features.introspection.catalogue.workflows import PLAYBOOKS
from mcp_agent_mail.features.introspection.schemas import show_directory


@pytest.fixture(scope="module")
def specs(all_specs: list[ToolSpec]) -> dict[str, ToolSpec]:
    return {spec.name: spec for spec in all_specs if spec.is_over_mcp}


@pytest.fixture(scope="module")
def directory(specs: dict[str, ToolSpec]) -> dict[str, Any]:
    shown: dict[str, Any] = show_directory(list(specs.values()), 0)  # type: ignore[arg-type]  # any instant
    return shown


def test_guidance_is_given_for_the_tools_of_every_cluster() -> None:
    assert {name: tuple(cluster.tools) for name, cluster in CLUSTERS.items()} == dict(profiles.CLUSTERS)


def test_what_goes_with_a_tool_and_what_makes_a_workflow_exists() -> None:
    related = {
        name for cluster in CLUSTERS.values() for guidance in cluster.tools.values() for name in guidance.related
    }
    steps = {tool for sequence in PLAYBOOKS.values() for tool in sequence}

    assert (related | steps) - set(profiles.TOOLS) == set()


def test_every_declared_tool_stands_in_the_directory_once(
    directory: dict[str, Any], specs: dict[str, ToolSpec]
) -> None:
    shown = [tool["name"] for cluster in directory["clusters"] for tool in cluster["tools"]]

    assert sorted(shown) == sorted(specs)


def test_every_example_is_a_call_that_its_tool_accepts(directory: dict[str, Any], specs: dict[str, ToolSpec]) -> None:
    for cluster in directory["clusters"]:
        for tool in cluster["tools"]:
            for example in tool["usage_examples"]:
                name, _, arguments = example["sample"].partition(" ")
                bind(specs[name].params, json.loads(arguments), what=name)


def test_a_tool_is_never_said_to_go_with_itself() -> None:
    assert [name for c in CLUSTERS.values() for name, guidance in c.tools.items() if name in guidance.related] == []
