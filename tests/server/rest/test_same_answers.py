"""Each route against its tool on one store: equal answers and equal refusals. A new row of the table is asked too."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from mcp_agent_mail.core.arguments import TOKEN_ARGUMENTS
from mcp_agent_mail.core.tools import ToolSpec
from mcp_agent_mail.server.rest.routes import PREFIX, ROUTES, ResourceRead, RestRoute, RouteAnswer, ToolCall
from tests.server.whole_app import WholeApp, open_whole_app

APP = "/code/rest-app"
DOORS = ("rest", "rpc")
TOOL_ROUTES = [route for route in ROUTES if isinstance(route.target, ToolCall)]
RESOURCE_ROUTES = [route for route in ROUTES if isinstance(route.target, ResourceRead)]

# Values of any JSON type.
NEEDED: dict[str, Any] = {
    "project_key": APP,
    "agent_name": "RedStone",
    "sender_name": "BlueLake",
    "subject": "Plan",
    "body_md": "Which parser?",
    "query": "twin",
}
"""For what a tool requires; `message_id` and `paths` are each door's own, so that neither finds its work done."""

MORE: dict[str, dict[str, Any]] = {
    "send_message": {"to": ["RedStone"], "topic": "plans"},
    "reply_message": {"sender_name": "RedStone"},
    "fetch_inbox": {"limit": 5, "include_bodies": True},
    "fetch_inbox_events": {"limit": 3},
    "wait_for_messages": {"timeout_s": 1},
    "hook_wait": {"timeout_s": 1},
    "heartbeat": {"session": "s-1", "event": "idle"},
    "hook_event": {"session": "asks by {door}", "event": "turn", "least": "any", "reprime": True},
    "hook_told": {"session": "tells by {door}"},
    "list_agents": {"include_retired": True},
    "search_messages": {"order": "oldest", "limit": 1},
    "renew_file_reservations": {"agent_name": "BlueLake", "paths": ["{door}.py"]},
    "release_file_reservations": {"agent_name": "BlueLake", "paths": ["{door}.py"]},
    "file_reservation_paths": {"paths": ["new-{door}.py"]},
}

_DRAWN = frozenset(("id", "message_id", "thread_id", "reply_to", "fencing", "claim"))
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)")


class Twins:
    """A store in which each door finds the same: a message of BlueLake's to RedStone, and a lease of BlueLake's."""

    def __init__(self, app: WholeApp, ids: dict[str, int], claims: dict[str, str]) -> None:
        self.app = app
        self.client = app.client
        self.ids = ids
        self.claims = claims

    def arguments(self, spec: ToolSpec, door: str) -> dict[str, Any]:
        names = [*spec.schema.get("required", ()), *(["message_id"] if "message_id" in spec.params else [])]
        given = {name: NEEDED[name] for name in names if name in NEEDED} | MORE.get(spec.name, {})
        if "message_id" in names:
            given["message_id"] = self.ids[door]
        if "session" in given:
            given["session"] = given["session"].format(door=door)
        if "claim" in names:
            given["claim"] = self.claims[door]
        if "paths" in given:
            given["paths"] = [path.format(door=door) for path in given["paths"]]
        return given

    async def over_rest(self, route: RestRoute, given: dict[str, Any]) -> httpx.Response:
        """The tool's arguments as its route takes them."""
        assert not isinstance(route.target, RouteAnswer)
        rest, path = dict(given), route.path
        for key, argument in route.target.from_path.items():
            path = path.replace(f"{{{key}}}", quote(str(rest.pop(argument)), safe=""))
        if route.method == "POST":
            return await self.client.post(PREFIX + path, json=rest)
        return await self.client.get(PREFIX + path, params=rest)

    async def over_rpc(self, name: str, given: dict[str, Any]) -> httpx.Response:
        return await self.client.post(f"/rpc/{name}", json=given)

    def spec(self, route: RestRoute) -> ToolSpec:
        assert isinstance(route.target, ToolCall)
        found = self.app.services.tools.find(route.target.tool)
        assert found is not None
        return found


# Any JSON.
def comparable(value: Any, door: str) -> Any:
    """Without what two calls that change something cannot share: when they were made, and what numbers they drew."""
    if isinstance(value, dict):
        return {key: "(drawn)" if key in _DRAWN and one else comparable(one, door) for key, one in value.items()}
    if isinstance(value, list):
        return [comparable(one, door) for one in value]
    return _TIME.sub("(time)", value).replace(f"{door}.py", "(door).py") if isinstance(value, str) else value


# Any JSON.
def without_ages(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_ages(one) for key, one in value.items() if key != "age_s"}
    return [without_ages(one) for one in value] if isinstance(value, list) else value


# A refusal, of whatever data.
def as_route_says(refusal: Any, route: RestRoute) -> Any:
    """The tool's refusal less the arguments that cannot come by the route."""
    assert isinstance(route.target, ToolCall)
    tokens = TOKEN_ARGUMENTS if route.method == "GET" else ()
    hidden = {*route.target.from_path.values(), *route.target.never, *tokens}
    error = refusal.get("error", {"data": {}})
    for key in ("accepted", "required"):
        if key in error["data"]:
            whole = error["data"][key]
            error["data"][key] = [name for name in whole if name not in hidden]
            error["hint"] = error["hint"].replace(", ".join(whole), ", ".join(error["data"][key]))
    return refusal


@pytest.fixture
async def twins(tmp_path: Path) -> AsyncIterator[Twins]:
    async with open_whole_app(tmp_path) as app:
        await app.call("ensure_project", human_key=APP)
        for name in ("BlueLake", "RedStone"):
            await app.call("register_agent", project_key=APP, name=name, program="tests", model="none")
        ids = {}
        for door in DOORS:
            sent = await app.call(
                "send_message",
                project_key=APP,
                sender_name="BlueLake",
                to=["RedStone"],
                subject="Twin",
                body_md="One of two.",
                ack_required=True,
            )
            ids[door] = sent["deliveries"][0]["payload"]["id"]
            await app.call(
                "file_reservation_paths", project_key=APP, agent_name="BlueLake", paths=[f"{door}.py"], ttl_seconds=600
            )
        event = {"project_key": APP, "agent_name": "RedStone", "event": "turn", "least": "any"}
        told = {door: await app.call("hook_event", None, **event, session=f"tells by {door}") for door in DOORS}
        yield Twins(app, ids, {door: one["claim"] for door, one in told.items()})


def _shown(route: RestRoute) -> str:
    return route.shown


@pytest.mark.parametrize("route", TOOL_ROUTES, ids=_shown)
async def test_a_route_answers_as_its_tool_does(twins: Twins, route: RestRoute) -> None:
    spec = twins.spec(route)

    rest = await twins.over_rest(route, twins.arguments(spec, "rest"))
    rpc = await twins.over_rpc(spec.name, twins.arguments(spec, "rest" if spec.read_only else "rpc"))

    assert (rest.status_code, rpc.status_code) == (200, 200), (rest.text, rpc.text)
    shown = rest.json()["result"] if spec.result_list else rest.json()
    if spec.read_only:
        assert without_ages(shown) == without_ages(rpc.json())
    else:
        assert comparable(without_ages(shown), "rest") == comparable(without_ages(rpc.json()), "rpc")


@pytest.mark.parametrize("route", TOOL_ROUTES, ids=_shown)
async def test_a_route_refuses_as_its_tool_does(twins: Twins, route: RestRoute) -> None:
    spec = twins.spec(route)
    assert isinstance(route.target, ToolCall)
    in_path = dict.fromkeys(route.target.from_path.values(), "1")
    good = twins.arguments(spec, "rest")
    asked = [
        in_path,
        {**good, "project_key": "/code/nowhere"},
        {**good, "stranger": "1", "projectkey": "2"},
        {**good, "project_key": " ", "limit": "none"},
        *({**good, name: "no id"} for name in in_path),
        *({**good, name: "999999"} for name in in_path),
        *({**good, name: str(2**63)} for name in in_path),
    ]

    for given in asked:
        rest, rpc = await twins.over_rest(route, given), await twins.over_rpc(spec.name, given)

        expected = as_route_says(without_ages(rpc.json()), route)
        assert (rest.status_code, without_ages(rest.json())) == (rpc.status_code, expected), given
    assert (await twins.over_rest(route, asked[1])).json()["error"]["type"] == "NOT_FOUND"


@pytest.mark.parametrize("route", RESOURCE_ROUTES, ids=_shown)
async def test_a_route_shows_what_its_resource_does(twins: Twins, route: RestRoute) -> None:
    assert isinstance(route.target, ResourceRead)
    for number, status in ((str(twins.ids["rest"]), 200), ("999999", 404), ("no id", 400)):
        path, bare = route.path, route.target.uri.partition("{?")[0]
        for key, argument in route.target.from_path.items():
            path, bare = path.replace(f"{{{key}}}", quote(number)), bare.replace(f"{{{argument}}}", quote(number))

        plain = await twins.client.get(PREFIX + path)
        of_project = await twins.client.get(PREFIX + path, params={"project_key": APP})
        read = await twins.over_rpc("read_resource", {"uri": bare})

        assert [one.status_code for one in (plain, of_project, read)] == [status] * 3
        assert plain.json() == of_project.json() == read.json()


async def test_a_conversation_goes_on_whatever_door_each_step_takes(twins: Twins) -> None:
    number = twins.ids["rest"]
    await twins.client.post(f"{PREFIX}messages/{number}/ack", json={"project_key": APP, "agent_name": "RedStone"})

    status = await twins.client.get(
        f"{PREFIX}messages/{number}/status", params={"project_key": APP, "agent_name": "BlueLake"}
    )

    assert [one["status"] for one in status.json()["recipients"]] == ["acknowledged"]


async def test_who_calls_may_be_said_once(twins: Twins) -> None:
    headers = {"X-Agent-Project": APP, "X-Agent-Name": "RedStone"}

    in_headers = await twins.client.get(f"{PREFIX}inbox", headers=headers)
    in_query = await twins.client.get(f"{PREFIX}inbox", params={"project": APP, "agent": "RedStone"})
    in_arguments = await twins.client.get(f"{PREFIX}inbox", params={"project_key": APP, "agent_name": "RedStone"})

    assert len(in_arguments.json()["result"]) == 2
    assert without_ages(in_headers.json()) == without_ages(in_query.json()) == without_ages(in_arguments.json())


async def test_each_call_of_a_route_is_counted_as_one_of_its_tool(twins: Twins) -> None:
    def calls() -> int:
        return twins.app.services.recording.usage.of("list_agents").calls

    before = calls()
    await twins.client.get(f"{PREFIX}agents", params={"project_key": APP})

    assert calls() == before + 1


async def test_a_message_is_there_for_whom_the_connection_names_after_it_was_withdrawn_too(twins: Twins) -> None:
    number = twins.ids["rest"]
    await twins.client.post(f"{PREFIX}messages/{number}/ack", json={"project_key": APP, "agent_name": "RedStone"})
    await twins.client.post(f"{PREFIX}messages/{number}/withdraw", json={"project_key": APP, "sender_name": "BlueLake"})
    uri = f"{PREFIX}messages/{number}"

    nobody = await twins.client.get(uri)
    named = [
        await twins.client.get(uri, params={"project_key": APP, "agent": "RedStone"}),
        await twins.client.get(uri, headers={"X-Agent-Project": APP, "X-Agent-Name": "BlueLake"}),
    ]
    by_tool = await twins.over_rpc("read_mail", {"project_key": APP, "agent_name": "RedStone", "message_id": number})

    assert nobody.status_code == 404
    (told,) = by_tool.json()["messages"]
    assert told["withdrawn_at"]
    for answer in named:
        assert {key: answer.json()[key] for key in told} == told


@pytest.mark.parametrize("route", TOOL_ROUTES, ids=_shown)
async def test_what_a_route_says_that_it_accepts_it_does_not_call_unknown(twins: Twins, route: RestRoute) -> None:
    spec = twins.spec(route)
    good = twins.arguments(spec, "rest")

    refused = (await twins.over_rest(route, {**good, "stranger": "1"})).json()["error"]["data"]["accepted"]
    assert refused
    for name in refused:
        answer = await twins.over_rest(
            route, {**good, "stranger": "1", name: "json" if name == "format" else good.get(name, "x")}
        )

        assert [one["name"] for one in answer.json()["error"]["data"].get("unknown", [])] == ["stranger"], (
            name,
            answer.text,
        )
