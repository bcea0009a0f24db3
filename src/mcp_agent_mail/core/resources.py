"""Resources as data: read-only views with a URI, declared in a slice like its tools.

A resource is an async function whose signature carries a `ParamType` for every placeholder of its URI:

    resource(inbox, uri="resource://inbox/{agent}{?project,limit}", name="inbox", title="Inbox of an agent")

Keys in a path are percent-encoded. Query keys that no placeholder names are ignored, because
clients and gateways add their own (`format` among them).
"""

from __future__ import annotations

import inspect
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from mcp_agent_mail.core.arguments import Param, bind, params_of
from mcp_agent_mail.core.errors import NotFound, listed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.likeness import most_like, one_hint_budget
from mcp_agent_mail.core.tools import Credentials, Handler, Json, call_as

SCHEME = "resource://"
MAX_URI = 8_192
"""Characters; a longer one names nothing."""
MAX_COMPARED_PATH = 500

_QUERY_BLOCK = re.compile(r"\{\?([a-z_]+(?:,[a-z_]+)*)\}$")
_PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)\}")


JSON_TYPE = "application/json"
BYTES_TYPE = "application/octet-stream"
"""Of a resource that is a `ContentResult`, before it is read: what it really is, each one says itself."""


class ContentResult(dict[str, Json]):
    """A resource that is bytes, as MCP and `/rpc` give it: `mimeType`, and `blob` as base64."""

    def __init__(self, media_type: str, data: bytes) -> None:
        super().__init__(mimeType=media_type, blob=b64encode(data).decode())


class UnknownResource(NotFound):
    """No resource has this URI."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """One declared resource. `segments` are the parts of its path, placeholders as they stand (`{agent}`)."""

    uri: str
    name: str
    title: str
    description: str
    handler: Handler
    segments: tuple[str, ...]
    path_keys: tuple[str, ...]
    query_keys: tuple[str, ...]
    params: Mapping[str, Param]
    result_list: bool
    media_type: str = JSON_TYPE

    @property
    def is_static(self) -> bool:
        """Without a placeholder in its path: works bare and stands in `resources/list`."""
        return not self.path_keys

    @property
    def bare_uri(self) -> str:
        """The URI without its query block."""
        return SCHEME + "/".join(self.segments)


def resource(
    handler: Handler,
    *,
    uri: str,
    name: str,
    title: str,
    list_result: bool = False,
    media_type: str = JSON_TYPE,
) -> ResourceSpec:
    """Declare `handler` as the resource `uri`; its text comes from the function's docstring."""
    assert uri.startswith(SCHEME), uri
    query = _QUERY_BLOCK.search(uri)
    query_keys = tuple(query[1].split(",")) if query else ()
    path = uri[len(SCHEME) : query.start() if query else None]
    path_keys = tuple(_PLACEHOLDER.findall(path))
    params = params_of(handler)
    assert set(params) == {*path_keys, *query_keys}, f"{uri}: the signature of {handler.__name__} differs"
    return ResourceSpec(
        uri=uri,
        name=name,
        title=title,
        description=inspect.cleandoc(handler.__doc__ or ""),
        handler=handler,
        segments=tuple(path.split("/")),
        path_keys=path_keys,
        query_keys=query_keys,
        params=params,
        result_list=list_result,
        media_type=media_type,
    )


class ResourceTable:
    """Every resource of the server."""

    def __init__(self, specs: Iterable[ResourceSpec]) -> None:
        self._specs = list(specs)

    def specs(self) -> list[ResourceSpec]:
        return list(self._specs)

    def match(self, uri: str) -> tuple[ResourceSpec, dict[str, str]]:
        """The resource that `uri` names and its arguments, decoded but not yet validated."""
        if len(uri) > MAX_URI:
            raise self._unknown(uri[:MAX_URI])
        path, _, query = _without_scheme(uri).partition("?")
        for spec in self._specs:
            keys = _match_path(spec, path)
            if keys is not None:
                return spec, {**_query_arguments(query, spec.query_keys), **keys}
        raise self._unknown(uri)

    async def read(self, uri: str, credentials: Credentials) -> Json:
        """Validate, call and return the resource's plain JSON, or its ContentResult. Raises AgentMailError."""
        with one_hint_budget():
            spec, given = self.match(uri)
            return await call_as(credentials, spec.handler, bind(spec.params, given, what=spec.name))

    def _unknown(self, uri: str) -> UnknownResource:
        path = _without_scheme(uri).partition("?")[0][:MAX_COMPARED_PATH]
        candidates = {_filled_like(spec, path): spec.uri for spec in self._specs}
        nearest = [candidates[close] for close in most_like(path, candidates)]
        hint = f"Did you mean {listed(nearest)}?" if nearest else "resources/templates/list names them all."
        return UnknownResource(f"Unknown resource: {uri:.500}.", hint=hint, data={"uri": uri[:500], "nearest": nearest})


def _filled_like(spec: ResourceSpec, path: str) -> str:
    """The path of `spec` with the parts of `path` for its keys, so that only the fixed words are compared."""
    parts = path.split("/")
    filled = [
        parts[position] if segment.startswith("{") and position < len(parts) else segment
        for position, segment in enumerate(spec.segments)
    ]
    return "/".join(filled)


def _without_scheme(uri: str) -> str:
    cleaned = uri.strip()
    return cleaned[len(SCHEME) :] if cleaned[: len(SCHEME)].lower() == SCHEME else cleaned


def _match_path(spec: ResourceSpec, path: str) -> dict[str, str] | None:
    """The decoded keys when `path` is this resource's.

    A last key that is an absolute path put in unencoded (`project//code/app`) is taken whole.
    """
    parts = path.split("/")
    last = len(spec.segments) - 1
    if len(parts) > last + 1 and spec.segments[last].startswith("{") and not parts[last]:
        parts = [*parts[:last], "/".join(parts[last:])]
    elif len(parts) == last + 2 and not parts[-1]:
        parts.pop()
    if len(parts) != last + 1:
        return None
    keys: dict[str, str] = {}
    for segment, part in zip(spec.segments, parts, strict=True):
        if segment.startswith("{"):
            keys[segment[1:-1]] = unquote(part)
        elif segment != part:
            return None
    return keys


def _query_arguments(query: str, known: tuple[str, ...]) -> dict[str, str]:
    """The values of the `known` keys; of a repeated key the last one counts.

    `+` stays a plus (RFC 6570; it stands in time offsets). What follows an `&` without being a
    `key=value` belongs to the value before it: a project path put in unencoded may hold one.
    """
    arguments: dict[str, str] = {}
    key = ""
    for piece in query.strip("&").split("&"):
        name, equals, value = piece.partition("=")
        if equals and name.isidentifier():
            key = name
            arguments[key] = value
        elif key:
            arguments[key] += f"&{piece}"
    return {name: unquote(value) for name, value in arguments.items() if name in known}
