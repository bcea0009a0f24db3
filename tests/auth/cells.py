"""Every cell of the table, asked: which differ from what is written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mcp_agent_mail.core.roles import Role
from tests.attack.reading_asks import TOOLS as ARGUMENTS
from tests.auth.asking import Answer, Asker, error_type, outcome
from tests.auth.servers import NAMED, PROJECT, Server, Shown, open_kind
from tests.auth.table import (
    ACTS_AS_AN_AGENT,
    ANOTHERS,
    BESIDE_MCP,
    CREDENTIALS,
    HOLDS,
    MARKS,
    PATHS,
    RESOURCES,
    REST,
    THROUGH,
    TOOLS,
    UNKNOWN,
    WRITER,
    Need,
    Route,
    expected,
    expected_method,
    expected_of_actor,
    expected_over_mcp,
    held_at_doors,
)

_REST = "/rest/v1/"
UNFIT: Mapping[str, Any] = {"no_such_argument": 1}
"""Roles are judged before arguments: with this one no call that gets through does anything."""


@dataclass(slots=True)
class Tally:
    """How many cells were asked, and those that came out otherwise than they are written: as (told, written)."""

    cells: int = 0
    wrong: dict[str, tuple[str, str]] = field(default_factory=dict)

    def note(self, what: str, told: str, written: str) -> None:
        self.cells += 1
        if told != written:
            self.wrong[what] = told, written


class _Ask(Protocol):
    async def __call__(self, asker: Asker, headers: Mapping[str, str]) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One thing that is asked for; `written` is what comes of it for a role."""

    what: str
    ask: _Ask
    written: Mapping[str, str]


async def ask_kind(kind: str, mode: str, directory: Path, *, credentials: Collection[str] = CREDENTIALS) -> Tally:
    """All cells of servers of one kind in one mode."""
    tally = Tally()
    async with open_kind(kind, directory, mode) as (server, shown):
        async for row, name, asker, one in _with_askers(list(_rows(kind)), shown, credentials):
            tally.note(f"{kind}, {mode}: {row.what}: {name}", await row.ask(asker, one.headers), row.written[name])
        await _ask_actors(tally, f"{kind}, {mode}", mode, server, shown)
    return tally


async def _with_askers(
    rows: list[_Row], shown: Mapping[str, Shown], credentials: Collection[str]
) -> AsyncIterator[tuple[_Row, str, Asker, Shown]]:
    async with AsyncExitStack() as stack:
        for name in credentials:
            asker = await stack.enter_async_context(Asker(shown[name].url))
            for row in rows:
                yield row, name, asker, shown[name]


def _rows(kind: str) -> Iterator[_Row]:
    holds = HOLDS[kind]
    for tool, need in TOOLS.items():
        written = {name: expected(need, role) for name, role in holds.items()}
        over_mcp = {name: expected_over_mcp(tool, role) for name, role in holds.items()}
        yield _Row(what=f"/rpc/{tool}", ask=_over_rpc(tool, UNFIT), written=written)
        yield _Row(what=f"MCP {tool}", ask=_over_mcp(tool, UNFIT), written=over_mcp)
    for tool, argument in MARKS.items():
        marking = {name: expected(Need.WRITER, role) for name, role in holds.items()}
        for value in (True, "true"):
            yield _Row(
                what=f"/rpc/{tool} {argument}={value!r}",
                ask=_over_rpc(tool, {**UNFIT, argument: value}),
                written=marking,
            )
            yield _Row(
                what=f"MCP {tool} {argument}={value!r}",
                ask=_over_mcp(tool, {**UNFIT, argument: value}),
                written=marking,
            )
    reading = {name: expected(Need.READER, role) for name, role in holds.items()}
    for uri in sorted(RESOURCES):
        filled = uri.partition("{?")[0].replace("{", "").replace("}", "")
        yield _Row(what=f"/rpc/read_resource {uri}", ask=_over_rpc("read_resource", {"uri": filled}), written=reading)
        yield _Row(what=f"MCP {uri}", ask=_reading(filled), written=reading)
    yield from _routes(kind, holds)


def _routes(kind: str, holds: Mapping[str, Role | None]) -> Iterator[_Row]:
    for path, route in PATHS.items():
        at_doors = {name: held_at_doors(kind, name) for name in holds}
        its = at_doors if route.need is Need.DOOR else holds
        yield from _route(path, route, its)
    for said, route in REST.items():
        method, _, path = said.partition(" ")
        body = UNFIT if method == "POST" else None
        asked = Route(need=route.need, method=method, body=body, other_method=route.other_method)
        query = "" if body else f"{'&' if '?' in path else '?'}no_such_argument=1"
        yield from _route(_REST + path.replace("{id}", "1") + query, asked, holds)


def _route(path: str, route: Route, holds: Mapping[str, Role | None]) -> Iterator[_Row]:
    written = {name: expected(route.need, role) for name, role in holds.items()}
    yield _Row(what=f"{route.method} {path}", ask=_asking(route.method, path, route.body), written=written)
    if (other := route.other_method) is not None:
        refused = {name: expected_method(route.need, role) for name, role in holds.items()}
        yield _Row(what=f"{other} {path}", ask=_asking(other, path, None if other == "GET" else {}), written=refused)


def _over_rpc(tool: str, arguments: Mapping[str, Any]) -> _Ask:
    async def ask(asker: Asker, headers: Mapping[str, str]) -> str:
        return outcome(await asker.ask("POST", f"/rpc/{tool}", headers, arguments))

    return ask


def _over_mcp(tool: str, arguments: Mapping[str, Any]) -> _Ask:
    async def ask(asker: Asker, headers: Mapping[str, str]) -> str:
        return outcome(await asker.call_over_mcp(tool, headers, arguments))

    return ask


def _reading(uri: str) -> _Ask:
    async def ask(asker: Asker, headers: Mapping[str, str]) -> str:
        return outcome(await asker.over_mcp("resources/read", uri, headers, {"uri": uri}))

    return ask


def _asking(method: str, path: str, body: Any) -> _Ask:
    async def ask(asker: Asker, headers: Mapping[str, str]) -> str:
        told = outcome(await asker.ask(method, path, headers, body))
        return THROUGH if told == UNKNOWN else told

    return ask


async def _ask_actors(tally: Tally, where: str, mode: str, server: Server, shown: Mapping[str, Shown]) -> None:
    """In the name of an agent, with the proof of another and, last since they may change something, with none."""
    async with Asker(server.url) as asker:
        for name in (ANOTHERS, WRITER):
            written = expected_of_actor(mode, name)
            for tool in sorted(ACTS_AS_AN_AGENT):
                given = actor_arguments(server, tool)
                answers: dict[str, Answer] = {
                    "/rpc": await asker.ask("POST", f"/rpc/{tool}", shown[name].headers, given)
                }
                if tool not in BESIDE_MCP:
                    answers["MCP"] = await asker.call_over_mcp(tool, shown[name].headers, given)
                for way, answer in answers.items():
                    tally.note(f"{where}: {way} {tool} as {NAMED}: {name}", _of_actor(answer, written), written)


def _of_actor(answer: Answer, written: str) -> str:
    """Where anything may come of it, whatever the tool itself refuses is what was expected."""
    told = error_type(answer)
    return THROUGH if written == THROUGH and told not in ("401", "failed") and not told.startswith("failed") else told


def actor_arguments(server: Server, tool: str) -> dict[str, Any]:
    """Good ones, in the name of the agent and in its project."""
    spec = server.services.tools.find(tool)
    assert spec is not None, tool
    given = dict(ARGUMENTS[tool])
    named = spec.identity_params
    given.update({param.name: PROJECT for param in named["project"]})
    given.update({param.name: NAMED for param in named["caller"][:1]})
    return given
