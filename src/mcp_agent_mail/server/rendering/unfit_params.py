"""What is wrong with the params of a request of MCP, where the SDK says no more than that something is."""

from __future__ import annotations

from collections.abc import Mapping

from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from mcp_agent_mail.core.errors import InvalidInput, in_sentences, listed
from mcp_agent_mail.server.rendering.wire import INVALID_PARAMS, error_object

_HINTS: Mapping[str, str] = {
    "tools/call": 'Send "params": {"name": "…", "arguments": {…}}; tools/list names the tools.',
    "resources/read": 'Send "params": {"uri": "…"}; resources/list and resources/templates/list name the resources.',
    "prompts/get": 'Send "params": {"name": "…", "arguments": {…}}; prompts/list names the prompts.',
}
_TOLD = 10
_LONGEST = 100


def unfit_params(method: str, unfit: ValidationError) -> MCPError | None:
    """The refusal of params that the SDK's models do not take: which are missing, and which are not of their type.
    Values are not quoted. None where it is something else that they do not take.
    """
    missing, wrong = [], []
    for one in unfit.errors(include_url=False, include_context=False, include_input=False)[:_TOLD]:
        if one["loc"][:1] != ("params",):
            return None
        place = ".".join(map(str, one["loc"]))[:_LONGEST]
        if one["type"] == "missing":
            missing.append(place)
        else:
            wrong.append(f"{place}: {one['msg'][:1].lower()}{one['msg'][1:]}")
    needs = [f"{method:.{_LONGEST}} needs {listed(missing, 'and')}"] if missing else []
    error = InvalidInput(
        f"{in_sentences(*needs, *wrong)}.",
        hint=_HINTS.get(method, ""),
        data={"missing": missing} if missing else {},
    )
    return MCPError(code=INVALID_PARAMS, message=error.text, data=error_object(error))
