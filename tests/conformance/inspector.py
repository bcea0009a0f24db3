"""The MCP inspector's command line against the running server: lists, one tool of every cluster, reads."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.conformance.testers import Testers
from tests.mcp_way import WAY_SETTINGS
from tests.served import Served

SCRIPT = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
GOLDEN = Path(__file__).parents[1] / "golden" / "surface.json"
PROJECT = "/srv/inspected"

# Any: JSON from outside.
Json = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One run of the inspector. `is_right` judges its answer; `over_stdio` goes through `am serve --stdio`, `by_door`
    through `agentmail mcp`, as the agent of that name.
    """

    title: str
    arguments: tuple[str, ...]
    is_right: Callable[[Json], bool]
    over_stdio: bool = False
    by_door: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    step: Step
    passed: bool
    took_s: float
    answer_bytes: int
    said: str


def run(testers: Testers, folder: Path) -> list[Outcome]:
    (folder / "code" / ".git").mkdir(parents=True)
    with Served(folder / "store", port=None, AGENTMAIL_ENABLED="true", **WAY_SETTINGS) as server:
        return [_take(testers, server, step) for step in steps()]


def _take(testers: Testers, server: Served, step: Step) -> Outcome:
    url = f"http://127.0.0.1:{server.port}/mcp"
    if step.over_stdio:
        target = ["--cli", *_settings(server), sys.executable, "-m", "mcp_agent_mail", "serve", "--stdio"]
    elif step.by_door is not None:
        # As in a folder of a repository. The command's own script may be of another checkout.
        program = f"cd {server.root.parent}/code && exec {sys.executable} -m mcp_agent_mail.cli.agentmail.entry mcp"
        given = _settings(server, AGENTMAIL_NAME=step.by_door)
        target = ["--cli", *given, "sh", "-c", program]
    else:
        target = ["--cli", url, "--transport", "http"]
    started = time.perf_counter()
    done = testers.run(SCRIPT, *target, *step.arguments)
    took_s = time.perf_counter() - started
    try:
        passed = done.returncode == 0 and step.is_right(json.loads(done.stdout))
    except (ValueError, KeyError, IndexError, TypeError):
        passed = False
    said = "" if passed else f"exit {done.returncode}: {done.stdout[-1_000:]}{done.stderr[-1_000:]}"
    return Outcome(step, passed, took_s, len(done.stdout), said)


def _settings(server: Served, **more: str) -> list[str]:
    """The inspector hands down next to nothing of its environment."""
    settings = {"STORAGE_ROOT": str(server.root), "AGENT_MAIL_ENV_FILE": "/dev/null", **more}
    settings |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return [word for name, value in settings.items() for word in ("-e", f"{name}={value}")]


def steps() -> list[Step]:
    """In this order: what is read later was written before."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    tools = set(golden["tools"])
    list_tools = ("--method", "tools/list")
    return [
        Step(
            title="tools/list, schemas portable",
            arguments=(*list_tools, "--strict"),
            is_right=lambda answer: {tool["name"] for tool in answer["tools"]} == tools,
        ),
        _call("infrastructure", "ensure_project", lambda project: project["human_key"] == PROJECT, human_key=PROJECT),
        _register("BlueLake"),
        _register("RedStone"),
        _call(
            "messaging",
            "send_message",
            lambda sent: sent["deliveries"][0]["payload"]["to"] == ["RedStone"],
            project_key=PROJECT,
            sender_name="BlueLake",
            to='["RedStone"]',
            subject="Who takes the parser?",
            body_md="I have the lexer.",
        ),
        _call(
            "search",
            "search_messages",
            lambda found: found["result"][0]["from"] == "BlueLake",
            project_key=PROJECT,
            query="parser",
        ),
        *_later_clusters(),
        Step(
            title="resources/list",
            arguments=("--method", "resources/list"),
            is_right=lambda answer: "resource://projects" in {item["uri"] for item in answer["resources"]},
        ),
        Step(
            title="resources/templates/list",
            arguments=("--method", "resources/templates/list"),
            is_right=lambda answer: "inbox" in {item["name"] for item in answer["resourceTemplates"]},
        ),
        _read("resource://config/environment", lambda told: told["http"]["path"] == "/mcp"),
        _read(
            "resource://inbox/RedStone?project=%2Fsrv%2Finspected",
            lambda told: told["messages"][0]["from"] == "BlueLake",
        ),
        Step(
            title="tools/list through serve --stdio",
            arguments=list_tools,
            is_right=lambda answer: {tool["name"] for tool in answer["tools"]} == tools,
            over_stdio=True,
        ),
        *_by_the_door(),
    ]


def _by_the_door() -> list[Step]:
    """`agentmail mcp`: its four tools, and a message from one agent to another."""
    names = ["send", "receive", "status", "list-recipients"]

    def call(agent: str, tool: str, is_right: Callable[[Json], bool], **arguments: str) -> Step:
        step = _call("agentmail mcp", tool, is_right, **arguments)
        return replace(step, by_door=agent)

    return [
        Step(
            title="tools/list of agentmail mcp, schemas portable",
            arguments=("--method", "tools/list", "--strict"),
            is_right=lambda answer: [tool["name"] for tool in answer["tools"]] == names,
            by_door="agent1",
        ),
        call("agent2", "status", lambda done: done["status"] == "ok", status="ready"),
        call("agent1", "send", lambda sent: len(sent["message_id"]) == 8, recipient="agent2", message="test"),
        call("agent2", "receive", lambda got: (got["from"], got["message"]) == ("agent1", "test")),
        call("agent2", "receive", lambda got: got == {"status": "No unread messages"}),
    ]


def _later_clusters() -> list[Step]:
    """One tool of each cluster beyond mail."""
    blue = {"project_key": PROJECT, "agent_name": "BlueLake"}
    return [
        _call("contact", "set_contact_policy", lambda done: done["policy"] == "open", **blue, policy="open"),
        _call(
            "file_reservations",
            "file_reservation_paths",
            lambda done: done["granted"][0]["path_pattern"] == "src/**" and not done["conflicts"],
            **blue,
            paths='["src/**"]',
        ),
        _call(
            "build_slots", "acquire_build_slot", lambda done: done["granted"]["slot"] == "build", **blue, slot="build"
        ),
        _call("product_bus", "ensure_product", lambda product: product["name"] == "storefront", name="storefront"),
        _call(
            "workflow_macros",
            "macro_start_session",
            lambda done: done["agent"]["name"] == "GrayFox" and len(done["peers"]) > 0,
            human_key=PROJECT,
            program="inspector",
            model="none",
            agent_name="GrayFox",
        ),
    ]


def _register(name: str) -> Step:
    return _call(
        "identity",
        "register_agent",
        lambda agent: agent["name"] == name,
        project_key=PROJECT,
        name=name,
        program="inspector",
        model="none",
    )


def _call(cluster: str, tool: str, is_right: Callable[[Json], bool], **arguments: str) -> Step:
    pairs = [word for name, value in arguments.items() for word in ("--tool-arg", f"{name}={value}")]
    return Step(
        title=f"tools/call {tool} ({cluster})",
        arguments=("--method", "tools/call", "--tool-name", tool, *pairs),
        is_right=lambda answer: is_right(answer["structuredContent"]),
    )


def _read(uri: str, is_right: Callable[[Json], bool]) -> Step:
    return Step(
        title=f"resources/read {uri}",
        arguments=("--method", "resources/read", "--uri", uri),
        is_right=lambda answer: is_right(json.loads(answer["contents"][0]["text"])),
    )
