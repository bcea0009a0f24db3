"""The list of tools as clients get it: golden, counted, and within its budget of tokens."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.profiles import CLUSTERS, FULL
from mcp_agent_mail.core.tools import ToolSpec
from tests.server import tool_list
from tests.server.reference_pages import declared
from tests.server.token_counts import BUDGETS, MAKE, recorded
from tests.server.tool_list import fingerprint, golden_files, listing, profiles


@pytest.fixture(scope="module")
def specs() -> list[ToolSpec]:
    return declared()[0]


def test_tools_and_resources_are_listed_as_the_golden_files_say() -> None:
    for path, content in golden_files().items():
        assert path.read_text(encoding="utf-8") == content, f"the list moved: {tool_list.MAKE}"


def test_the_profiles_know_every_tool_by_its_cluster(specs: list[ToolSpec]) -> None:
    known = {tool: cluster for cluster, tools in CLUSTERS.items() for tool in tools}

    assert {spec.name: known.get(spec.name) for spec in specs if spec.is_over_mcp} == {
        spec.name: spec.cluster for spec in specs if spec.is_over_mcp
    }


@pytest.mark.parametrize("name", profiles())
def test_the_tokens_were_counted_on_the_list_of_today(name: str, specs: list[ToolSpec]) -> None:
    counted = recorded()["profiles"][name]

    assert counted["sha256"] == fingerprint(listing(specs, profiles()[name])), f"the list moved: {MAKE}"


@pytest.mark.parametrize("name", BUDGETS)
def test_a_profile_keeps_to_its_budget(name: str) -> None:
    counted = recorded()["profiles"][name]

    assert counted["tokens"] <= BUDGETS[name]


def test_every_tool_has_a_title(specs: list[ToolSpec]) -> None:
    assert [spec.name for spec in specs if not spec.title.strip()] == []
    assert profiles()["full"] is FULL


def test_whatever_summarizes_or_runs_git_takes_turns(specs: list[ToolSpec]) -> None:
    summarizing = {"summarize_thread", "summarize_recent", "summarize_thread_product", "macro_prepare_thread"}
    running_git = {"install_precommit_guard", "uninstall_precommit_guard"}

    assert {spec.name for spec in specs if spec.is_long} == summarizing | running_git


def test_the_parameters_that_say_who_calls_are_marked_as_such_and_no_others(specs: list[ToolSpec]) -> None:
    callers = {(spec.name, name) for spec in specs for name in spec.params if _stands_for(spec, name) == "caller"}
    projects = {(spec.name, name) for spec in specs for name in spec.params if _stands_for(spec, name) == "project"}
    about_another = {
        ("whois", "agent_name"),
        ("search_messages", "agent_name"),
        ("list_threads", "agent_name"),
        ("reissue_token", "agent_name"),
        ("create_issued_token", "agent_name"),
        ("owed_acknowledgements", "agent_name"),
        ("remind_acknowledgements", "agent_name"),
    }
    of_other_names = {
        ("send_message", "sender_name"),
        ("reply_message", "sender_name"),
        ("withdraw_message", "sender_name"),
        ("request_contact", "from_agent"),
        ("respond_contact", "to_agent"),
        ("macro_contact_handshake", "requester"),
    }

    named = {(spec.name, "agent_name") for spec in specs if "agent_name" in spec.params}
    keyed = {(spec.name, "project_key") for spec in specs if "project_key" in spec.params}
    assert callers == (named - about_another) | of_other_names
    filters = {("list_guard_events", "project_key"), ("create_issued_token", "project_key")}
    assert projects == (keyed - filters) | {("macro_start_session", "human_key")}


def _stands_for(spec: ToolSpec, name: str) -> str | None:
    return getattr(spec.params[name].rule, "stands_for", None)
