"""What is wrong with the params of a request of MCP, where the SDK says no more than that something is."""

from __future__ import annotations

from collections.abc import Mapping

from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mcp_agent_mail.core.errors import InvalidInput, in_sentences, listed
from mcp_agent_mail.server.rendering.wire import INVALID_PARAMS, error_object

_RESOURCES = "resources/list and resources/templates/list name the resources."
_HINTS: Mapping[str, str] = {
    "tools/call": 'Send "params": {"name": "…", "arguments": {…}}; tools/list names the tools.',
    "resources/read": f'Send "params": {{"uri": "…"}}; {_RESOURCES}',
    "resources/subscribe": f'Send "params": {{"uri": "…"}}; {_RESOURCES}',
    "resources/unsubscribe": 'Send "params": {"uri": "…"}, as it was subscribed to.',
    "prompts/get": 'Send "params": {"name": "…", "arguments": {…}}; prompts/list names the prompts.',
    "completion/complete": 'Send "params": {"ref": {"type": "ref/prompt", "name": "…"}, "argument": {"name": "…", '
    '"value": "…"}}; of a resource the ref is {"type": "ref/resource", "uri": "…"}.',
    "initialize": f'Send "params": {{"protocolVersion": "{LATEST_HANDSHAKE_VERSION}", "capabilities": {{}}, '
    '"clientInfo": {"name": "…", "version": "…"}}.',
    "logging/setLevel": 'Send "params": {"level": "info"}.',
    "subscriptions/listen": 'Send "params": {"notifications": {"resourceSubscriptions": ["…"]}, "_meta": {…}}; '
    f"{_RESOURCES}",
}
_JSON_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("model_type", "dict_type"), "an object"),
    "list_type": "a list",
    "string_type": "text",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
}
"""By what pydantic calls the mistake: its own words are those of Python."""
_EITHER: Mapping[tuple[str, ...], str] = {
    ("params", "ref"): "a reference to a prompt or resource",
    ("params", "_meta", "progressToken"): "text or a whole number",
}
"""Of what may be of two types pydantic tells what is wrong with either, below the type's name in Python."""
_WANTED = "Input should be "
_TOLD = 10
_LONGEST = 100


def unfit_params(method: str, unfit: ValidationError) -> MCPError | None:
    """The refusal of params that the SDK's models do not take: which are missing, and which are not of their type.
    Values are not quoted. None where it is something else that they do not take.
    """
    found = unfit.errors(include_url=False, include_context=False, include_input=False)
    if any(one["loc"][:1] != ("params",) for one in found):
        return None
    told = list(dict.fromkeys(_told(one) for one in found))
    missing = [place for place, wrong in told[:_TOLD] if not wrong]
    needs = [f"{method:.{_LONGEST}} needs {listed(missing, 'and')}"] if missing else []
    more = [f"{len(told) - _TOLD} more are missing or wrong"] if len(told) > _TOLD else []
    error = InvalidInput(
        f"{in_sentences(*needs, *(wrong for _, wrong in told[:_TOLD]), *more)}.",
        hint=_HINTS.get(method, ""),
        data={"missing": missing} if missing else {},
    )
    return MCPError(code=INVALID_PARAMS, message=error.text, data=error_object(error))


def _told(one: ErrorDetails) -> tuple[str, str]:
    """The place, and what is wrong with it: nothing, where it is missing."""
    for place, either in _EITHER.items():
        if one["loc"][: len(place)] == place and len(one["loc"]) > len(place):
            return ".".join(place), f"{'.'.join(place)} must be {either}"
    named, words = ".".join(map(str, one["loc"]))[:_LONGEST], one["msg"]
    if one["type"] == "missing":
        return named, ""
    wanted = _JSON_TYPES.get(one["type"]) or (words.removeprefix(_WANTED) if words.startswith(_WANTED) else "")
    return named, f"{named} must be {wanted}" if wanted else f"{named}: {words[:1].lower()}{words[1:]}"
