"""OpenAPI 3.1 of the REST routes, made of the table and the schemas that the tools have anyway."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mcp_agent_mail.core.arguments import TOKEN_ARGUMENTS
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.params import IdentityPart
from mcp_agent_mail.core.resources import ResourceSpec
from mcp_agent_mail.core.tools import Json, JsonObject, ToolSpec, ToolTable
from mcp_agent_mail.server.rendering.wire import ERROR_TYPES
from mcp_agent_mail.server.rest.routes import PREFIX, ResourceRead, RestRoute, RouteAnswer, ToolCall

OPENAPI_VERSION = "3.1.0"
_JSON = "application/json"
_KEY = lazy_pattern(r"\{(\w+)\}")

_ABOUT = (
    "The tools of MCP Agent Mail as plain HTTP: same arguments, same results, same refusals. A list stands in "
    '`{"result": [...]}`. GET takes its arguments in the query, a list as a repeated key, and can be asked by HEAD, '
    "unless it is a stream; POST takes one JSON object. `project`, `agent` and `format` may stand in any query: who "
    "calls, for calls that leave it out, and `json`, `toon` or `md`."
)
_SECURITY = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "The server's token, where it has one; else an agent's. The operator's opens everything.",
    },
    "agentToken": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Agent-Token",
        "description": "An agent's own token: needed where AGENT_AUTH is strict, beside the server's where it has one.",
    },
}
_ACCEPTED: list[JsonObject] = [{}, {"bearer": []}, {"agentToken": []}, {"bearer": [], "agentToken": []}]
"""What suffices is the server's setting: from nothing at all on one's own machine to both."""

_SCHEMAS = {
    "Error": {
        "type": "object",
        "description": "A refusal by a tool: the fact, the next step, and what a program needs.",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": list(ERROR_TYPES)},
                    "message": {"type": "string"},
                    "recoverable": {"type": "boolean"},
                    "hint": {"type": "string"},
                    "data": {"type": "object"},
                },
                "required": ["type", "message", "recoverable", "hint", "data"],
            }
        },
        "required": ["error"],
    },
    "Refusal": {
        "type": "object",
        "description": "A refusal before any tool: admission, method, content type, size.",
        "properties": {"detail": {"type": "string"}},
        "required": ["detail"],
    },
}
_REFUSED = {
    "description": "Refused; `error.type` says why.",
    "content": {
        _JSON: {"schema": {"oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("Error", "Refusal")]}}
    },
}


def describe(
    routes: Sequence[RestRoute],
    tools: ToolTable,
    resources: Mapping[str, ResourceSpec],
    *,
    known: Collection[IdentityPart],
    version: str,
) -> JsonObject:
    """The document. `known` is what calls of this connection may leave out of who calls."""
    paths: JsonObject = {}
    for route in routes:
        operation = _operation(route, tools, resources, known)
        paths.setdefault(f"{PREFIX}{route.path}", {})[route.method.lower()] = operation
    return {
        "openapi": OPENAPI_VERSION,
        "info": {"title": "MCP Agent Mail", "version": version, "description": _ABOUT},
        "paths": paths,
        "components": {"schemas": _SCHEMAS, "securitySchemes": _SECURITY},
        "security": _ACCEPTED,
    }


def _operation(
    route: RestRoute, tools: ToolTable, resources: Mapping[str, ResourceSpec], known: Collection[IdentityPart]
) -> JsonObject:
    match route.target:
        case ToolCall(tool=name):
            spec = tools.find(name)
            assert spec is not None, name
            return _of_tool(route, route.target, spec, known)
        case ResourceRead(uri=uri):
            return _of_resource(route, route.target, resources[uri])
        case RouteAnswer():
            return _of_own(route, route.target)


def _of_own(route: RestRoute, target: RouteAnswer) -> JsonObject:
    given = _given(route, target.arguments, {})
    if target.headers:
        headers = [
            {"name": name, "in": "header", "required": False, "schema": dict(one)}
            for name, one in target.headers.items()
        ]
        given = {**given, "parameters": [*given.get("parameters", ()), *headers]}
    result = {"type": "string" if target.is_stream else "object"}
    return _described(route, target.name, target.title, target.description) | {
        **given,
        "responses": _responses(result, target.media_type),
    }


def _of_tool(route: RestRoute, target: ToolCall, spec: ToolSpec, known: Collection[IdentityPart]) -> JsonObject:
    result = _a_list() if spec.result_list else {"type": "object"}
    return _described(route, spec.name, spec.title, spec.description) | {
        **_given(route, _less(spec.schema_without(known), route, target), target.from_path, spec.schema["properties"]),
        "responses": _responses(result, _JSON),
    }


def _of_resource(route: RestRoute, target: ResourceRead, spec: ResourceSpec) -> JsonObject:
    schemas = {param.name: dict(param.rule.schema()) for param in spec.params.values()}
    shown = {other: name for name, other in target.also.items()}
    query = {
        "type": "object",
        "properties": {shown.get(key, key): schemas[key] for key in spec.query_keys},
    }
    result = _a_list() if spec.result_list else {"type": "object"}
    return _described(route, spec.name, spec.title, spec.description) | {
        **_given(route, query, target.from_path, schemas),
        "responses": _responses(result, spec.media_type),
    }


def _described(route: RestRoute, name: str, title: str, description: str) -> JsonObject:
    tag = route.path.partition("/")[0].removesuffix(".json")
    return {"operationId": name, "summary": title, "description": description, "tags": [tag]}


def _a_list() -> JsonObject:
    return {"type": "object", "properties": {"result": {"type": "array", "items": {}}}, "required": ["result"]}


def _less(schema: Mapping[str, Json], route: RestRoute, target: ToolCall) -> JsonObject:
    """Without what stands in the path, what the route never takes and, in the query of a GET, tokens."""
    tokens = TOKEN_ARGUMENTS if route.method == "GET" else ()
    gone = {*target.from_path.values(), *target.never, *tokens}
    properties = {name: one for name, one in schema["properties"].items() if name not in gone}
    less = {**schema, "properties": properties}
    if required := [name for name in schema.get("required", ()) if name not in gone]:
        return {**less, "required": required}
    less.pop("required", None)
    return less


def _given(
    route: RestRoute,
    schema: Mapping[str, Json],
    from_path: Mapping[str, str],
    of_path: Mapping[str, Json] | None = None,
) -> JsonObject:
    """How the arguments of `schema` and those of the path are sent."""
    parameters = [
        {"name": key, "in": "path", "required": True, "schema": (of_path or {}).get(from_path.get(key, key), {})}
        for key in _KEY.findall(route.path)
    ]
    if route.method == "GET":
        required = schema.get("required", ())
        parameters += [
            {"name": name, "in": "query", "required": name in required, "schema": one}
            for name, one in schema.get("properties", {}).items()
        ]
        return {"parameters": parameters}
    body = {"required": True, "content": {_JSON: {"schema": dict(schema)}}}
    return {**({"parameters": parameters} if parameters else {}), "requestBody": body}


def _responses(result: JsonObject, media_type: str) -> JsonObject:
    described = {"description": "The result.", "content": {media_type: {"schema": result}}}
    return {"200": described, "default": _REFUSED}
