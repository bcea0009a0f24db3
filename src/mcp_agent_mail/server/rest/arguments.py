"""The arguments of a REST call: from its query or its body, and from its path. What they mean is the tool's to say."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from urllib.parse import parse_qsl

from mcp_agent_mail.core.arguments import FORMAT_ARGUMENT, means_token
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.tools import Json, JsonObject

CONNECTION_KEYS = ("project", "agent", FORMAT_ARGUMENT, "profile")
"""Keys of a URL that say something of the connection, here as on `/mcp` and `/rpc`."""

Pairs = Sequence[tuple[str, str]]


def read_pairs(query_string: bytes) -> Pairs:
    """The keys and values of a query, decoded as HTML forms and `URLSearchParams` encode them: a plus is a blank.

    Raises InvalidInput for what is not UTF-8.
    """
    # A character per byte, so that what is not percent-encoded is read in the same way.
    raw = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, encoding="latin-1")
    try:
        return [(key.encode("latin-1").decode(), value.encode("latin-1").decode()) for key, value in raw]
    except UnicodeDecodeError as broken:
        raise InvalidInput("The query is not UTF-8.", hint="Percent-encode its values in UTF-8.") from broken


def without_connection(pairs: Pairs, own: Collection[str]) -> Pairs:
    """Less the keys that speak of the connection, where the route has no argument of that name."""
    return [(key, value) for key, value in pairs if key in own or key not in CONNECTION_KEYS]


def from_query(pairs: Pairs, lists: Collection[str], own: Collection[str] = ()) -> JsonObject:
    """Each key once; of those in `lists` a repeated one is a list. Raises InvalidInput, also for a token by whatever
    name that is not the route's `own`: what stands in a URL is logged on its way.
    """
    given: JsonObject = {}
    for key, value in pairs:
        if key not in own and means_token(key):
            raise InvalidInput(
                f"{key:.100} is not taken from a URL, which others may log.",
                hint="Send the token in the header X-Agent-Token.",
                data={"parameter": key[:100]},
            )
        if key not in given:
            given[key] = value
        elif key not in lists:
            raise _twice(key)
        elif isinstance(given[key], list):
            given[key].append(value)
        else:
            given[key] = [given[key], value]
    return given


def require_no_query(pairs: Pairs) -> None:
    """Of POST. Raises InvalidInput."""
    for key, _ in pairs:
        raise InvalidInput(
            f"{key:.100} stands in the query of a POST.",
            hint="Send the arguments as the JSON object that is its body.",
            data={"parameter": key[:100], "accepted": []},
        )


def require_no_body(body: bytes) -> None:
    """Of GET. Raises InvalidInput."""
    if body.strip():
        raise InvalidInput("This GET has a body.", hint="Send the arguments in the query: ?project_key=…&limit=20.")


def renamed(given: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """With the keys of `names` by their other name. Raises InvalidInput where both are given."""
    result: JsonObject = {}
    for key, value in given.items():
        name = names.get(key, key)
        if name in result:
            raise _twice(name)
        result[name] = value
    return result


def with_path(
    given: Mapping[str, Json], keys: Mapping[str, str], from_path: Mapping[str, str], never: Collection[str] = ()
) -> JsonObject:
    """The arguments with those that stand in the path. Raises InvalidInput for one that the path has already."""
    for name in (*from_path.values(), *never):
        if name in given:
            raise InvalidInput(
                f"{name} is no argument of this route, whose path says which message is meant.",
                hint=f"Leave {name} out.",
                data={"parameter": name},
            )
    return {**given, **{argument: keys[key] for key, argument in from_path.items()}}


def _twice(key: str) -> InvalidInput:
    return InvalidInput(
        f"{key:.100} is given more than once, and is no list.", hint="Send it once.", data={"parameter": key[:100]}
    )
