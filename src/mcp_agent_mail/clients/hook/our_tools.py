"""Is a tool that is about to be called one of our server's? Mail that asks to stop refuses none of them: by them it is
read.
"""

from __future__ import annotations

from mcp_agent_mail.clients.hook.identity import REGISTERING, SERVERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_agent_mail.clients.contracts.reader import Contract
    from mcp_agent_mail.clients.hook.payload import HookPayload

OF_MAIL = (
    *REGISTERING,
    *("fetch_inbox", "fetch_topic", "mark_message_read", "acknowledge_message", "reply_message", "send_message"),
)
"""Those by which mail is read and answered: for clients that do not say whose a tool is."""


def is_ours(contract: Contract, payload: HookPayload) -> bool:
    """By what the contract says of names."""
    how = contract["mcp_tool"]
    if how["pattern"] is None:
        return payload.at(_before(how["server"])) in SERVERS
    if "{server}" not in how["pattern"]:
        return payload.tool in {how["pattern"].replace("{tool}", tool) for tool in OF_MAIL}
    beginning = how["pattern"].partition("{tool}")[0]
    return payload.tool.startswith(tuple(beginning.replace("{server}", server) for server in SERVERS))


def _before(paths: list[list[str | int]]) -> list[list[str | int]]:
    """Where the server's name stands before the call: as after it, in that event's own part of the payload."""
    return [["preToolUse" if key == "postToolUse" else key for key in path] for path in paths]
