"""The served surface against `tests/golden/surface.json`: every name, parameter, default and key of it, and no more."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.story import PROJECT, Story
from tests.served import Connection, Served

SURFACE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "surface.json").read_text())
TOOLS: dict[str, Any] = SURFACE["tools"]
RESOURCES: dict[str, Any] = SURFACE["resources"]
OBJECTS = [uri for uri, declared in RESOURCES.items() if not declared.get("blob")]
"""Those that are JSON: the others are bytes."""

TYPES: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "list[str]": {"type": "array", "items": {"type": "string"}},
    "list[int]": {"type": "array", "items": {"type": "integer"}},
}

Values = list[dict[str, Any]]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """An MCP session of a server in which every tool has been called once (see `results`)."""
    with Served(tmp_path_factory.mktemp("contract") / "store") as server, server.connect() as session:
        session.open_session()
        session.server = server  # type: ignore[attr-defined]  # the story below waits for the archive
        yield session


@pytest.fixture(scope="module")
def listed(connection: Connection) -> dict[str, Any]:
    tools = connection.mcp("tools/list")["result"]["tools"]
    return {tool["name"]: tool for tool in tools}


def test_the_tools_listed_are_exactly_those_of_the_contract(listed: dict[str, Any]) -> None:
    assert sorted(listed) == sorted(TOOLS)


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_declares_the_contracts_parameters_types_and_defaults(name: str, listed: dict[str, Any]) -> None:
    schema = listed[name]["inputSchema"]

    assert _schema(TOOLS[name]["params"]) == {
        "required": sorted(schema.get("required", [])),
        "properties": {
            param: {
                key: value for key, value in declared.items() if key in ("type", "items", "enum", "default", "anyOf")
            }
            for param, declared in schema["properties"].items()
        },
    }


def _schema(params: dict[str, Any]) -> dict[str, Any]:
    """What the contract's parameters look like as a JSON schema: one strict type each, no null alternative."""
    properties = {}
    for name, param in params.items():
        declared = dict(TYPES[param["type"]])
        if "values" in param:
            declared["enum"] = param["values"]
        if param.get("default") is not None:
            declared["default"] = param["default"]
        properties[name] = declared
    return {"required": sorted(name for name, param in params.items() if param["required"]), "properties": properties}


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_says_whether_it_reads_destroys_or_may_be_repeated(name: str, listed: dict[str, Any]) -> None:
    annotations = listed[name]["annotations"]

    assert annotations["readOnlyHint"] is TOOLS[name]["read_only"]
    assert annotations.get("destructiveHint", False) is TOOLS[name]["destructive"]
    assert annotations.get("idempotentHint", False) is TOOLS[name]["idempotent"]


def test_no_tool_lists_an_output_schema(listed: dict[str, Any]) -> None:
    assert [name for name, tool in listed.items() if tool.get("outputSchema")] == []


def test_every_tool_has_a_description(listed: dict[str, Any]) -> None:
    assert [name for name, tool in listed.items() if not tool.get("description", "").strip()] == []


@pytest.mark.parametrize("name", SURFACE["later_tools"])
def test_a_tool_of_a_later_stage_is_unknown(name: str, connection: Connection) -> None:
    result = connection.tool(name)

    assert result["isError"] is True
    assert result["content"][0]["text"].startswith(f"Unknown tool: {name}")


LATER_PARAMS = [(tool, param) for tool, declared in TOOLS.items() for param in declared["later_params"]]


@pytest.mark.parametrize(("tool", "param"), LATER_PARAMS)
def test_a_parameter_of_a_later_stage_is_refused_not_ignored(tool: str, param: str, connection: Connection) -> None:
    result = connection.tool(tool, **{param: "x"})

    assert result["structuredContent"]["error"]["type"] == "INVALID_INPUT"
    assert param in result["structuredContent"]["error"]["message"]


def test_the_resources_listed_are_exactly_those_of_the_contract(connection: Connection) -> None:
    bare = [entry["uri"] for entry in connection.mcp("resources/list")["result"]["resources"]]
    templates = connection.mcp("resources/templates/list")["result"]["resourceTemplates"]

    assert sorted({*bare, *(entry["uriTemplate"] for entry in templates)}) == sorted(RESOURCES)
    assert sorted(bare) == sorted(uri for uri in RESOURCES if "{" not in uri.replace("{?", ""))


# --- Every tool once ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def story(connection: Connection, tmp_path_factory: pytest.TempPathFactory) -> Story:
    story = Story(connection, tmp_path_factory.mktemp("code"))
    story.begins()
    story.reserves_files()
    story.builds()
    story.goes_on()
    story.asks_for_consent()
    story.uses_macros()
    story.makes_a_product()
    story.works_in_a_window()
    story.guards()
    story.keeps_house()
    connection.server.await_drained()  # type: ignore[attr-defined]  # set by the fixture
    story.does("whois", project_key=PROJECT, agent_name="BlueLake")
    return story


def test_the_story_calls_every_tool(story: Story) -> None:
    assert sorted(story.results) == sorted(TOOLS)


@pytest.mark.parametrize("name", TOOLS)
def test_a_result_carries_its_keys_and_none_of_a_later_stage(name: str, story: Story) -> None:
    plain = _plain(name, story.results[name])

    _check_keys(TOOLS[name], plain)


SEVERAL = [name for name, declared in TOOLS.items() if "keys_if_several" in declared]


@pytest.mark.usefixtures("story")
@pytest.mark.parametrize("name", SEVERAL)
def test_several_threads_have_keys_of_their_own(name: str, connection: Connection) -> None:
    declared = TOOLS[name]

    answer = connection.tool(name, project_key=PROJECT, thread_id="plan-1,plan-2")

    several = {
        "result_list": False,
        "result_keys": declared["keys_if_several"],
        "nested": declared["nested_if_several"],
    }
    _check_keys(several, answer["structuredContent"])


@pytest.mark.parametrize("name", TOOLS)
def test_text_and_structured_content_agree(name: str, story: Story) -> None:
    result = story.results[name]
    (block,) = result["content"]

    text = json.loads(block["text"])

    structured = dict(result["structuredContent"])
    beside = {key: structured.pop(key) for key in TOOLS[name].get("envelope_keys", ())}
    assert structured == ({"result": text} if TOOLS[name]["result_list"] else text)
    assert all(isinstance(count, int) for count in beside.values())
    assert block["text"] == json.dumps(text, separators=(",", ":"), ensure_ascii=False), "compact JSON"


def _plain(name: str, result: dict[str, Any]) -> Any:  # plain JSON
    content = result["structuredContent"]
    return content["result"] if TOOLS[name]["result_list"] else content


def _check_keys(declared: dict[str, Any], value: Any) -> None:  # plain JSON
    """Every key of the contract is there; keys of later stages are not; more keys are allowed."""
    items: Values = value if declared["result_list"] else [value]
    assert items, "nothing came back to check"
    for item in items:
        assert set(declared["result_keys"]) <= set(item), set(declared["result_keys"]) - set(item)
    for path, keys in declared.get("nested", {}).items():
        for item in _at(items, path):
            assert set(keys) <= set(item), f"{path} lacks {set(keys) - set(item)}"
    for later in declared.get("later_keys", []):
        parent, _, key = later.rpartition(".")
        assert [item for item in (_at(items, parent) if parent else items) if key in item] == [], later


def _at(items: list[Any], path: str) -> Values:
    """The objects at `a[].b`; a null object is passed over."""
    for step in path.split("."):
        found = items if step == "*" else [item[step.removesuffix("[]")] for item in items]
        if step == "*":
            items = [entry for entries in found for entry in entries.values()]
        else:
            items = [entry for entries in found for entry in entries] if step.endswith("[]") else found
    return [item for item in items if item is not None]


# --- Every resource once -----------------------------------------------------------------------------------------

ARGUMENTS = {"project_key": "%2Fcode%2Fcontract", "thread_id": "plan-1", "window_seconds": "3600", "key": "storefront"}


def _uri(template: str, story: Story, *, query: str = "") -> str:
    path = template.partition("{?")[0]
    agent = {"outbox": "BlueLake", "views": "GreenCastle"}.get(path.split("/")[2], "RedStone")
    names = {"slug": story.slug, "project": story.slug}
    given = {**ARGUMENTS, **names, "agent": agent, "message_id": str(story.message_id)}
    for key, value in given.items():
        path = path.replace(f"{{{key}}}", value)
    return f"{path}?project=%2Fcode%2Fcontract{query}" if "{?project" in template else path


@pytest.mark.parametrize("template", OBJECTS)
def test_a_resource_carries_its_keys_and_none_of_a_later_stage(
    template: str, story: Story, connection: Connection
) -> None:
    value = connection.read(_uri(template, story))

    _check_keys(RESOURCES[template], value)


@pytest.mark.parametrize("template", OBJECTS)
def test_a_resource_takes_every_query_key_and_ignores_unknown_ones(
    template: str, story: Story, connection: Connection
) -> None:
    samples = {"limit": "1", "agent": "RedStone", "since_ts": "2020-01-01", "after_id": "1"}
    keys = [key for key in RESOURCES[template]["query"] if key != "project"]
    given = "".join(f"&{key}={samples.get(key, '1' if key.startswith('ttl') else 'true')}" for key in keys)
    uri = _uri(template, story)
    joined = f"{uri}{given}" if "?" in uri else f"{uri}?{given.removeprefix('&')}"

    value = connection.read(f"{joined}&format=json&made_up=1")

    assert value is not None


@pytest.mark.parametrize("template", [uri for uri in OBJECTS if "{?" in uri])
def test_a_resources_query_defaults_are_the_contracts(template: str, story: Story, connection: Connection) -> None:
    defaults = {key: value for key, value in RESOURCES[template]["query"].items() if value is not None}
    uri = _uri(template, story)
    given = "&".join(f"{key}={json.dumps(value)}" for key, value in defaults.items())

    said = connection.read(f"{uri}{'&' if '?' in uri else '?'}{given}")

    left_out = connection.read(uri)
    assert _timeless(said) == _timeless(left_out)


_MOVING = ("age_seconds", "age_s", "last_active_ts", "generated_at")


def _timeless(value: Any) -> Any:  # plain JSON
    """Less what the clock moves between two reads."""
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key not in _MOVING}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("template", [uri for uri, declared in RESOURCES.items() if declared.get("blob")])
def test_a_resource_of_bytes_is_a_blob_and_unknown_where_nobody_sent_it(
    template: str, story: Story, connection: Connection
) -> None:
    given, nowhere = (
        connection.mcp("resources/read", uri=_uri(template.replace("{sha256}", sha256), story))
        for sha256 in (story.sha256, "0" * 64)
    )

    (content,) = given["result"]["contents"]
    assert (content["mimeType"], b64decode(content["blob"])) == ("text/plain", b"The plan.")
    assert nowhere["error"]["data"]["error"]["type"] == "NOT_FOUND"


# --- Errors ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("story")
def test_an_error_has_its_shape_over_mcp_and_over_rpc(connection: Connection) -> None:
    arguments = {"project_key": PROJECT, "agent_name": "NoSuchAgent"}

    over_mcp = connection.tool("whois", **arguments)
    over_rpc = connection.rpc("whois", arguments)

    error = over_mcp["structuredContent"]["error"]
    assert over_mcp["isError"] is True
    assert sorted(error) == sorted(SURFACE["error_keys"])
    assert error["type"] in SURFACE["errors"]
    assert over_mcp["content"][0]["text"] == f"Error calling tool 'whois': {error['message']} {error['hint']}"
    assert over_rpc.error == error


@pytest.mark.parametrize("name", TOOLS)
def test_a_token_argument_is_accepted_by_every_tool_and_a_wrong_one_denied_where_it_matters(
    name: str, connection: Connection
) -> None:
    answer = connection.tool(name, registration_token="amt_wrong")

    error = answer.get("structuredContent", {}).get("error", {"type": "OK", "message": ""})
    assert "registration_token" not in error["message"], "the argument itself is known to every tool"
