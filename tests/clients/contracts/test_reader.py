"""Every contract that is shipped is whole, and a contract that is not is told where."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, MOMENTS, SERVER, faults_of, read_contract
from mcp_agent_mail.clients.hook.output import knows
from mcp_agent_mail.clients.hook.run import WIRE_EVENTS
from mcp_agent_mail.clients.hook.wake import LIFE_S


@pytest.mark.parametrize("client", CLIENTS)
def test_a_contract_that_is_shipped_has_no_faults(client: str) -> None:
    contract = read_contract(client)

    assert contract["client"] == client
    assert faults_of(contract) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_every_output_has_an_encoder_and_every_moment_a_name_on_the_wire(client: str) -> None:
    events = read_contract(client)["events"].values()

    assert [event["output"] for event in events if not knows(event["output"])] == []
    assert {event["moment"] for event in events} <= WIRE_EVENTS.keys() == set(MOMENTS)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_told_of_can_be_told(client: str) -> None:
    """An event whose output is silent can do nothing, and one that can do something is not silent."""
    for name, event in read_contract(client)["events"].items():
        is_silent = event["output"] in ("silent", "cursor_prompt")
        assert is_silent == (event["can"] == []) or event["output"] == "cline", name
        assert not (is_silent and event["tells"]), name


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_installed_covers_who_is_told_and_when_it_ends(client: str) -> None:
    contract = read_contract(client)
    hooks = contract["files"]["hooks"]["user"]
    if hooks["shape"] == "plugin":
        assert all(event["install"] is None for event in contract["events"].values())
        return

    installed = {event["moment"] for event in contract["events"].values() if event["install"] is not None}

    assert {"start", "turn", "before_tool", "after_tool", "turn_end", "end"} <= installed


def test_a_client_ends_no_watcher_before_its_time() -> None:
    assert read_contract("claude")["wake"]["install"] == {"timeout": LIFE_S, "asyncRewake": True}


def test_the_name_of_the_server_is_one_that_every_client_takes() -> None:
    assert "_" not in SERVER
    assert SERVER.replace("-", "").isalnum()


_BREAKS: list[tuple[str, list[Any], Any]] = [
    ("keys", ["extra"], 1),
    ("session", ["session"], ["session_id"]),
    ("token", ["token", "mark"], "believed"),
    ("wake", ["wake", "way"], "keys"),
    ("wake", ["wake", "way"], None),
    ("wake", ["wake", "event"], "Noon"),
    ("wake", ["wake", "event"], None),
    ("wake", ["wake", "install"], {"asyncRewake": True}),
    ("wake", ["wake", "how"], None),
    ("wake", ["wake", "more"], 1),
    ("files.mcp.user", ["files", "mcp", "user", "format"], "yaml"),
    ("files.mcp.user", ["files", "mcp", "user", "free"], {"timeout": "any"}),
    ("files.mcp.user", ["files", "mcp", "user", "free"], {"headersHelper": "texts"}),
    ("files.hooks.user", ["files", "hooks", "user", "shape"], "round"),
    ("files.hooks.user", ["files", "hooks", "user", "hides"], [{"path": "~/.claude/other.json", "keys": []}]),
    ("events.Stop", ["events", "Stop", "moment"], "noon"),
    ("events.Stop", ["events", "Stop", "tells"], "low"),
    ("events.Stop", ["events", "Stop", "can"], ["sing"]),
    ("events.Stop", ["events", "Stop", "can"], []),
    ("events.Stop", ["events", "Stop", "neutral"], None),
    ("events.Stop", ["events", "Stop", "install"], {"matcher": None}),
    ("events.Stop", ["events", "Stop", "source"], ""),
    ("events.Stop", ["events", "Stop", "more"], 1),
    ("edits.tools.Edit", ["edits", "tools", "Edit"], {"path": ["x"]}),
]


@pytest.mark.parametrize(("place", "path", "value"), _BREAKS)
def test_a_broken_contract_is_told_where(place: str, path: list[Any], value: Any) -> None:
    contract = copy.deepcopy(read_contract("claude"))
    into = contract
    for key in path[:-1]:
        into = into[key]
    into[path[-1]] = value

    found = faults_of(contract)

    assert found, json.dumps(path)
    assert all(fault.startswith(place) for fault in found)
