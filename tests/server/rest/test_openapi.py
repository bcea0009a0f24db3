"""The description of the routes: OpenAPI 3.1 as far as a test without its validator can say, and true of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from mcp_agent_mail.core.params import IdentityPart
from mcp_agent_mail.server.rendering.wire import ERROR_TYPES
from mcp_agent_mail.server.rest.openapi import describe
from mcp_agent_mail.server.rest.routes import PREFIX, ROUTES, ToolCall
from tests.server.hosted import VERSION, hosted
from tests.server.rest.toy_routes import TOY_ROUTES, rest_app, toy_calls
from tests.server.whole_app import open_whole_app

# A JSON object.
Document = dict[str, Any]


def toy_document(*known: IdentityPart) -> Document:
    calls = toy_calls()
    resources = {spec.uri: spec for spec in calls.resources.specs()}
    return describe(TOY_ROUTES, calls.tools, resources, known=known, version=VERSION)


async def the_document(tmp_path: Path, **headers: str) -> Document:
    async with open_whole_app(tmp_path) as app:
        answer = await app.client.get(f"{PREFIX}openapi.json", headers=headers)
    assert answer.status_code == 200
    document: Document = answer.json()
    return document


def operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def every_ref(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from ([value["$ref"]] if "$ref" in value else [])
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from every_ref(one)


def check_structure(document: Document) -> None:
    """What OpenAPI 3.1 requires of the objects that are used here."""
    assert re.fullmatch(r"3\.1\.\d+", document["openapi"])
    assert {"title", "version"} <= document["info"].keys()
    assert document.keys() <= {"openapi", "info", "paths", "components", "security"}
    for ref in every_ref(document):
        found = document
        for part in ref.removeprefix("#/").split("/"):
            found = found[part]
    schemes = document["components"]["securitySchemes"]
    assert all(name in schemes for need in document["security"] for name in need)
    assert schemes["bearer"]["type"] == "http"
    assert schemes["bearer"]["scheme"] == "bearer"
    assert {schemes["agentToken"][key] for key in ("type", "in", "name")} == {"apiKey", "header", "X-Agent-Token"}
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(names) == len(set(names))
    for path, method, operation in operations(document):
        check_operation(path, method, operation)


def check_operation(path: str, method: str, operation: Document) -> None:
    fields = {"operationId", "summary", "description", "tags", "parameters", "requestBody", "responses"}
    assert path.startswith("/")
    assert method in ("get", "post")
    assert operation.keys() <= fields
    assert operation["summary"]
    parameters = operation.get("parameters", [])
    places = [(one["name"], one["in"]) for one in parameters]
    assert len(places) == len(set(places))
    assert {name for name, place in places if place == "path"} == set(re.findall(r"\{(\w+)\}", path))
    assert all(one["required"] for one in parameters if one["in"] == "path")
    assert all(one.keys() == {"name", "in", "required", "schema"} for one in parameters)
    assert all(isinstance(one["schema"].get("type"), str) for one in parameters)
    assert ("requestBody" in operation) == (method == "post")
    if method == "post":
        assert operation["requestBody"]["content"]["application/json"]["schema"]["type"] == "object"
    assert {"200", "default"} <= operation["responses"].keys()
    assert all(one["description"] and one["content"] for one in operation["responses"].values())


async def test_the_description_is_openapi(tmp_path: Path) -> None:
    check_structure(await the_document(tmp_path))
    check_structure(toy_document())


async def test_each_row_is_described_and_nothing_else(tmp_path: Path) -> None:
    document = await the_document(tmp_path)

    described = [(f"{PREFIX}{route.path}", route.method.lower()) for route in ROUTES]
    assert [(path, method) for path, method, _ in operations(document)] == described


async def test_what_is_described_is_what_the_tool_takes(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path) as app:
        document = (await app.client.get(f"{PREFIX}openapi.json")).json()
        specs = {spec.name: spec for spec in app.services.tools.specs()}
    for route in ROUTES:
        if not isinstance(route.target, ToolCall):
            continue
        spec, operation = specs[route.target.tool], document["paths"][PREFIX + route.path][route.method.lower()]
        gone = {*route.target.from_path.values(), *route.target.never}
        if route.method == "GET":
            sent = {one["name"]: one["schema"] for one in operation["parameters"] if one["in"] == "query"}
            required = {one["name"] for one in operation["parameters"] if one["in"] == "query" and one["required"]}
        else:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            sent, required = schema["properties"], set(schema.get("required", ()))
        expected = {name: one for name, one in spec.schema["properties"].items() if name not in gone}
        assert sent == expected, route.shown
        assert required == set(spec.schema["required"]) - gone, route.shown


def test_a_list_and_a_stream_are_described_as_such() -> None:
    paths = toy_document()["paths"]

    listed = paths["/rest/v1/tally"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    streamed = paths["/rest/v1/stream"]["get"]
    assert listed["properties"]["result"]["type"] == "array"
    assert list(streamed["responses"]["200"]["content"]) == ["text/event-stream"]
    assert streamed["responses"]["200"]["content"]["text/event-stream"]["schema"] == {"type": "string"}
    assert [(one["name"], one["in"]) for one in streamed["parameters"]] == [("after", "query")]


async def test_of_head_and_the_header_of_a_stream_is_said_what_is_so(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path) as app:
        document = (await app.client.get(f"{PREFIX}openapi.json")).json()
        head = await app.client.head(f"{PREFIX}events")

    events = document["paths"][f"{PREFIX}events"]["get"]
    assert [one["name"] for one in events["parameters"] if one["in"] == "header"] == ["Last-Event-ID"]
    assert (head.status_code, head.headers["allow"]) == (405, "GET")
    assert "can be asked by HEAD, unless it is a stream" in document["info"]["description"]
    assert events["description"].endswith("Not for HEAD.")


def test_tokens_are_described_in_bodies_and_not_in_queries() -> None:
    paths = toy_document()["paths"]

    body = paths["/rest/v1/kept/{n}/again"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert list(body["properties"]) == ["word", "sender_token"]
    assert [one["name"] for one in paths["/rest/v1/picked"]["get"]["parameters"]] == [
        "names",
        "ids",
        "word",
        "mark_read",
    ]


async def test_what_the_connection_says_is_not_required(tmp_path: Path) -> None:
    document = await the_document(tmp_path, **{"X-Agent-Project": "/code/app", "X-Agent-Name": "BlueLake"})

    assert not [one for one in document["paths"][f"{PREFIX}inbox"]["get"]["parameters"] if one["required"]]


async def test_errors_are_described_by_all_their_types(tmp_path: Path) -> None:
    schemas = (await the_document(tmp_path))["components"]["schemas"]

    assert schemas["Error"]["properties"]["error"]["properties"]["type"]["enum"] == list(ERROR_TYPES)
    assert schemas["Refusal"]["required"] == ["detail"]


async def test_the_description_takes_no_arguments() -> None:
    async with hosted(rest_app()) as url, httpx.AsyncClient(base_url=f"{url}/rest/v1/", timeout=60) as client:
        plain = await client.get("openapi.json?project=/code/app")
        strange = await client.get("openapi.json?stranger=1")

    assert plain.status_code == 200
    assert (strange.status_code, strange.json()["error"]["type"]) == (400, "INVALID_INPUT")
