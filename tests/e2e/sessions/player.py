"""Plays an agent against a server: what it calls, what it reads, what both cost.

An agent here reads nothing but the text block of an answer. It may correct a mistake at once when the text
holds what it needs; otherwise it first spends the turn that an agent would, a look-up, and then calls again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from tests.served import Answer, Connection, Served

Arguments = dict[str, Any]
_PROJECT_NAMES = ("project_key", "human_key")
_CALLER_NAMES = ("agent_name", "sender_name", "from_agent", "to_agent", "requester")


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    arguments: Arguments

    def without(self, name: str) -> Call:
        return replace(self, arguments={key: one for key, one in self.arguments.items() if key != name})

    def having(self, name: str, value: Any) -> Call:
        return replace(self, arguments={**self.arguments, name: value})


@dataclass(frozen=True, slots=True)
class Reply:
    """`text` is what a model reads, `value` what that says: ids, names and flags are in it whatever the format."""

    is_error: bool
    text: str
    value: Any


@dataclass(frozen=True, slots=True)
class Fix:
    """One correction of a call: `told` says whether a refusal's text holds what it needs.

    `lookup` is what the agent calls when it does not; None is a look at the tool's own schema.
    """

    told: re.Pattern[str]
    apply: Callable[[Call], Call]
    lookup: Call | None = None


def renamed(wrong: str, right: str, *, told: str | None = None) -> Fix:
    """An argument by its right name; the text must say that name."""

    def apply(call: Call) -> Call:
        return call.without(wrong).having(right, call.arguments[wrong]) if wrong in call.arguments else call

    return Fix(re.compile(told or rf"\b{right}\b"), apply)


def put(name: str, value: Any, *, told: str, lookup: Call | None = None) -> Fix:
    """An argument with another value; the text must match `told`."""
    return Fix(re.compile(told), lambda call: call.having(name, value), lookup)


def by_tool(name: str, *, lookup: Call | None = None) -> Fix:
    """Another tool, which the text must name."""
    return Fix(re.compile(rf"\b{name}\b"), lambda call: replace(call, tool=name), lookup)


def instead(call: Call, *, told: str, lookup: Call | None = None) -> Fix:
    """Another call altogether; the text must match `told`."""
    return Fix(re.compile(told), lambda _: call, lookup)


@dataclass
class Cost:
    """What one session cost: turns are calls, `texts` all that a model paid for."""

    turns: int = 0
    texts: list[str] = field(default_factory=list)
    mistakes: dict[str, int] = field(default_factory=dict)
    """By mistake, the turns that it cost beyond the call that was meant."""

    @property
    def characters(self) -> int:
        return sum(len(text) for text in self.texts)


class _Client(Connection):
    """A connection whose MCP endpoint has a query."""

    def __init__(self, port: int, query: Mapping[str, str]) -> None:
        super().__init__(port)
        self._endpoint = f"/mcp?{urlencode(query)}"

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        return super().request(method, self._endpoint if path == "/mcp" else path, body, headers)

    def tools(self) -> dict[str, dict[str, Any]]:
        self.open_session()
        return {tool["name"]: tool for tool in self.mcp("tools/list")["result"]["tools"]}


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Player:
    """One agent of a session, on a connection of its own. It says who it is with the connection where it can."""

    def __init__(
        self, server: Served, cost: Cost, *, project: str, profile: str, form: str, name: str | None = None
    ) -> None:
        self.project, self.name, self.cost = project, name, cost
        query = {"profile": profile, "format": form}
        with _Client(server.port, query) as plain:
            self._named_in_calls = plain.tools()
        identity = {"project": project} | ({} if name is None else {"agent": name})
        self._client = _Client(server.port, {**query, **identity})
        self._tools = self._client.tools()
        cost.texts.append(compact({"tools": list(self._tools.values())}))

    def close(self) -> None:
        self._client.close()

    def offers(self, tool: str, parameter: str | None = None) -> bool:
        """Whether `tools/list` has the tool, and the parameter."""
        return tool in self._tools and (
            parameter is None or parameter in self._tools[tool]["inputSchema"].get("properties", {})
        )

    def call(self, tool: str, /, **arguments: Any) -> Reply:
        """One turn, successful or not."""
        return self._turn(Call(tool, arguments))

    def done(self, tool: str, /, **arguments: Any) -> Any:
        """One turn that must succeed; gives its value."""
        reply = self.call(tool, **arguments)
        assert not reply.is_error, f"{tool}: {reply.text}"
        return reply.value

    def read(self, uri: str) -> Any:
        """One turn that reads a resource."""
        answer = self._client.mcp("resources/read", uri=uri)
        (content,) = answer["result"]["contents"]
        self._pay(uri, content["text"])
        return self._client.read(f"{uri}{'&' if '?' in uri else '?'}format=json")

    def mistake(self, what: str, call: Call, *fixes: Fix, met: Callable[[Any], bool] = lambda _: True) -> Any:
        """Make the call as first thought, correct it as the text allows until it is what was meant; gives the value."""
        before, waiting = self.cost.turns, list(fixes)
        reply = self._turn(call)
        while reply.is_error or not met(reply.value):
            assert waiting, f"{what}: no correction is left for {call}: {reply.text}"
            known = [fix for fix in waiting if fix.told.search(_as_read(reply.text))]
            if not known:
                found = _as_read(self._look_up(waiting[0], call))
                known = waiting[:1] + [fix for fix in waiting[1:] if fix.told.search(found)]
            for fix in known:
                call = fix.apply(call)
            waiting = [fix for fix in waiting if fix not in known]
            reply = self._turn(call)
        assert what not in self.cost.mistakes, f"{what} is made twice"
        self.cost.mistakes[what] = self.cost.turns - before - 1
        return reply.value

    def _look_up(self, fix: Fix, call: Call) -> str:
        """One turn that finds out what a refusal did not tell; gives what was read."""
        if fix.lookup is None:
            found = compact(self._tools[fix.apply(call).tool])
            self._pay("tools/list", found)
            return found
        if fix.lookup.tool.startswith("resource:"):
            return compact(self.read(fix.lookup.tool))
        return self._turn(fix.lookup).text

    def _turn(self, call: Call) -> Reply:
        arguments = self._said(call)
        result = self._client.tool(call.tool, **arguments)
        (block,) = result["content"]
        reply = Reply(result["isError"], block["text"], _value(block["text"], result["structuredContent"]))
        self._pay(compact({"name": call.tool, "arguments": arguments}), reply.text)
        return reply

    def _said(self, call: Call) -> Arguments:
        """The arguments without what the connection says."""
        return {name: one for name, one in call.arguments.items() if not self._is_said(call.tool, name, one)}

    def _is_said(self, tool: str, name: str, value: Any) -> bool:
        own = (name in _PROJECT_NAMES and value == self.project) or (name in _CALLER_NAMES and value == self.name)
        return own and name in _required(self._named_in_calls, tool) and name not in _required(self._tools, tool)

    def _pay(self, *texts: str) -> None:
        self.cost.turns += 1
        self.cost.texts += texts


def _as_read(text: str) -> str:
    """Without the escapes of Markdown, as whoever reads it takes it."""
    return re.sub(r"\\([\\`*_\[\]<>#|~])", r"\1", text)


def _value(text: str, structured: Any) -> Any:
    """The JSON of the text, else (Markdown) that beside it; of a list the list, unless it is empty beside counts."""
    try:
        return json.loads(text)
    except ValueError:
        items = structured.get("result")
        return items if items or list(structured) == ["result"] else structured


def _required(tools: Mapping[str, dict[str, Any]], tool: str) -> list[str]:
    required: list[str] = tools.get(tool, {}).get("inputSchema", {}).get("required", [])
    return required
