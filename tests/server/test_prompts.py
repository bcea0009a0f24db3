"""Prompts and argument completion of a real server, in both protocol eras."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_agent_mail.core.profiles import FULL
from mcp_agent_mail.server.prompts import WORKFLOWS
from tests.served import Served
from tests.server.prompts_page import PAGE, page
from tests.server.test_mcp import ERAS, JSON_HEADERS

APP, LIB = "/code/app", "/code/lib"
PROFILE = {"program": "tests", "model": "none"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two projects with agents, and a thread in one of them."""
    with Served(tmp_path_factory.mktemp("prompts") / "store") as served, served.connect() as connection:
        for project, names in ((APP, ("BlueLake", "RedStone")), (LIB, ("QuietFox",))):
            for name in names:
                connection.call("macro_start_session", human_key=project, agent_name=name, **PROFILE)
        letter = {"sender_name": "BlueLake", "to": ["RedStone"], "subject": "Plan", "body_md": "b"}
        for thread in ("plan-1", "release"):
            connection.call("send_message", project_key=APP, thread_id=thread, **letter)
        yield served


def ask(server: Served, era: Any, method: str, params: dict[str, Any], **headers: str) -> dict[str, Any]:
    body, own = era(method, params)
    url = f"http://127.0.0.1:{server.port}/mcp"
    answer = httpx.post(url, json=body, headers={**JSON_HEADERS, **own, **headers}, timeout=60)
    result: dict[str, Any] = answer.json()
    return result


def completed(server: Served, era: Any, argument: str, value: str, /, **context: str) -> list[str]:
    """Of the prompt review_inbox or hand_over."""
    params = {
        "ref": {"type": "ref/prompt", "name": "hand_over"},
        "argument": {"name": argument, "value": value},
        "context": {"arguments": context},
    }
    values: list[str] = ask(server, era, "completion/complete", params)["result"]["completion"]["values"]
    return values


@ERAS
def test_the_workflows_are_listed(server: Served, era: Any) -> None:
    listed = ask(server, era, "prompts/list", {})["result"]["prompts"]

    assert [prompt["name"] for prompt in listed] == ["start_session", "hand_over", "review_inbox", "resolve_conflict"]
    assert [one["name"] for one in listed[0]["arguments"] if one["required"]] == ["project_key"]


@ERAS
def test_a_prompt_names_the_calls_with_what_was_filled_in(server: Served, era: Any) -> None:
    given = {"project_key": APP, "agent_name": "BlueLake", "path": 'src/"odd".py'}

    answer = ask(server, era, "prompts/get", {"name": "resolve_conflict", "arguments": given})["result"]

    (message,) = answer["messages"]
    call = {"project_key": APP, "agent_name": "BlueLake", "paths": ['src/"odd".py']}
    assert message["role"] == "user"
    assert f"`check_file_reservation_conflicts` with {json.dumps(call)}" in message["content"]["text"]


@ERAS
def test_a_prompt_without_what_it_needs_is_an_error(server: Served, era: Any) -> None:
    answer = ask(server, era, "prompts/get", {"name": "review_inbox", "arguments": {"project_key": APP}})

    assert answer["error"]["code"] == -32602
    assert answer["error"]["data"]["error"]["type"] == "INVALID_INPUT"
    assert "agent_name" in answer["error"]["message"]


@ERAS
def test_projects_agents_and_threads_are_completed(server: Served, era: Any) -> None:
    assert completed(server, era, "project_key", "/code/") == [LIB, APP]
    assert completed(server, era, "project_key", "ap") == [APP]
    assert completed(server, era, "agent_name", "b", project_key=APP) == ["BlueLake"]
    assert completed(server, era, "to", "", project_key=LIB) == ["QuietFox"]
    assert completed(server, era, "thread_id", "", project_key=APP) == ["release", "plan-1"]
    assert completed(server, era, "thread_id", "PLAN", project_key=APP) == ["plan-1"]


def test_the_reference_page_is_made_of_the_prompts() -> None:
    assert PAGE.read_text() == page(), "python -m tests.server.prompts_page"


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_a_workflow_names_only_tools_that_exist(workflow: Any) -> None:
    tools = {
        tool["name"] for tool in json.loads((Path(__file__).parents[1] / "golden" / "tools_list.json").read_text())
    }
    text = workflow.tell(dict.fromkeys(workflow.arguments, "x"), FULL)

    named = {word.strip(".,;:`") for word in text.split() if "_" in word and word.strip(".,;:`").isidentifier()}

    assert named - tools <= {"registration_token", "file_reservation_paths", "body_md", "include_bodies"}
