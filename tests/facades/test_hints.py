"""What calls that are wrong in every way are told at each door: whole sentences, in which nothing is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.facades.correspondents import Server, begin, correspondents
from tests.served import PROTOCOL

WRONG: tuple[Any, ...] = (
    None,
    "",
    "  ",
    "nobody at all!",
    "/no/where",
    "Nobody@nowhere",
    5,
    -1,
    True,
    [],
    ["x"],
    {"a": 1},
)
_ABSENT = re.compile(r"\bNone\b|\bnull=|<[a-z_.]+ object at|\{[a-z_]+\}")
"""A value that was not there, a thing that has no words, a gap that was not filled."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the tools of a way in are called, and by whom."""

    path: str
    headers: Mapping[str, str]
    is_mailboxes: bool = False


PLACES = {
    "postal": Place("/agents/pat/mcp/", {}),
    "claude-mailbox": Place("/mcp", {"X-Mailbox": "cleo-1a2b"}, is_mailboxes=True),
    "claude-mailbox, by nobody": Place("/mcp", {}, is_mailboxes=True),
    "claims": Place("/mcp?profile=claims", {}),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("hints").resolve()
    with begin(root) as served:
        made = Server(served, str(root / "work"))
        correspondents(made)
        yield made


def _ask(server: Server, place: Place, method: str, params: Any) -> Any:
    headers = {"Accept": "application/json", "MCP-Protocol-Version": PROTOCOL, **place.headers}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    port = server.mailbox_port if place.is_mailboxes else None
    return server.post(place.path, body, headers, port=port).value


def _plausible(server: Server, name: str, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    fit = {"array": ["x.py"], "integer": 1, "boolean": True}
    return server.project if name in ("project_key", "human_key") else fit.get(str(kind), "RedStone")


def _calls(server: Server, tool: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """With nothing; with all that is needed, less one, or with one that is wrong; with what there is not."""
    schema = tool["inputSchema"]
    fit = {name: _plausible(server, name, schema["properties"][name]) for name in schema.get("required", ())}
    yield {}
    yield {**fit, "nosuch": 1}
    for name in fit:
        yield {one: value for one, value in fit.items() if one != name}
    for name in schema["properties"]:
        for wrong in WRONG:
            yield {**fit, name: wrong}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_no_refusal_speaks_of_what_is_not_there(server: Server, place: Place) -> None:
    tools = _ask(server, place, "tools/list", {})["result"]["tools"]
    calls = [(tool["name"], arguments) for tool in tools for arguments in _calls(server, tool)]

    told = [(call, _ask(server, place, "tools/call", {"name": call[0], "arguments": call[1]})) for call in calls]

    refused = [(call, answer) for call, answer in told if "error" in answer or answer["result"].get("isError")]
    assert len(refused) > len(tools)
    assert [(call, answer) for call, answer in refused if _ABSENT.search(str(_texts(answer)))] == []


def _texts(answer: Any) -> list[str]:
    """The words alone: in what is for programs a null has its place."""
    if "error" in answer:
        return [answer["error"]["message"]]
    return [one["text"].partition("\n{")[0] for one in answer["result"]["content"]]
