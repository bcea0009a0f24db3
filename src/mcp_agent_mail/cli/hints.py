"""Hints are written for agents, who call tools; whoever runs `am` is told the commands that do the same.

One table, applied where an error is printed, so that no rule words its hint twice.
"""

from __future__ import annotations

import re
import shlex

from mcp_agent_mail.core.profiles import CLUSTERS

COMMANDS = {
    "archive_project": "am projects archive",
    "check_file_reservation_conflicts": "am guard check",
    "checkout_archive_month": "am archive checkout",
    "create_join_code": "am projects invite",
    "deregister_agent": "am agents retire",
    "fetch_inbox": "am mail inbox",
    "force_release_file_reservation": "am reservations release",
    "health_check": "am status",
    "held_mail": "am mail held",
    "install_precommit_guard": "am guard install",
    "list_agents": "am agents list",
    "list_contacts": "am contacts list",
    "list_guard_events": "am guard log",
    "list_join_codes": "am projects codes",
    "read_mail": "am mail read",
    "reissue_token": "am token reissue",
    "release_file_reservations": "am reservations release",
    "reply_message": "am mail send --reply-to ID",
    "revoke_join_code": "am projects revoke-code",
    "search_messages": "am mail search",
    "send_message": "am mail send",
    "unarchive_project": "am projects unarchive",
    "uninstall_precommit_guard": "am guard uninstall",
    "unretire_agent": "am agents unretire",
    "whois": "am agents show",
}
"""The command that does for a person what the tool does for an agent."""

RESOURCES = {
    "resource://projects": "am projects list",
    "resource://file_reservations": "am reservations list",
    "resource://agents": "am agents list",
    "resource://inbox": "am mail inbox",
    "resource://thread": "am mail thread",
    "resource://message": "am mail read",
}

_AGENTS_ONLY = frozenset(tool for tools in CLUSTERS.values() for tool in tools) - COMMANDS.keys()
_NAMED = ("project_key", "agent_name")
"""Arguments that the command takes as its first word, where the call in the hint has just one of them."""

_VALUE = r"(?:'[^'\n]*'|\"[^\"\n]*\")"
_CALL = re.compile(
    rf"`?\b(?P<tool>{'|'.join(sorted((*COMMANDS, *_AGENTS_ONLY), key=len, reverse=True))})\b"
    rf"(?:\((?P<arguments>(?:[^()'\"\n]|{_VALUE})*)\))?`?"
)
_ONE_ARGUMENT = re.compile(rf"\s*(?P<name>\w+)=(?P<value>{_VALUE})\s*")
_RESOURCE = re.compile(rf"({'|'.join(RESOURCES)})(?:/[^\s,;?]*[^\s,;?.])?")
_PROJECT_QUERY = re.compile(r"\?project= ?(?=\S)")


def in_commands(hint: str) -> str:
    """The hint with commands for tools and resources; what only an agent can call is said to be an agent's."""
    told = _CALL.sub(_command, hint)
    told = _RESOURCE.sub(lambda found: RESOURCES[found[1]], told)
    return _PROJECT_QUERY.sub("--project ", told)


def _command(found: re.Match[str]) -> str:
    tool = found["tool"]
    if tool == "whois" and found["arguments"] is None:
        return found[0]
    if tool == "ensure_project":
        return f"am projects list shows them and --project names one; an agent's {found[0]}"
    if tool not in COMMANDS:
        before = found.string[: found.start()].rstrip()
        return f"{'An' if not before or before.endswith('.') else 'an'} agent's {found[0]}"
    one = _ONE_ARGUMENT.fullmatch(found["arguments"] or "")
    if one is None or one["name"] not in _NAMED:
        return COMMANDS[tool]
    return f"{COMMANDS[tool]} {shlex.quote(one['value'][1:-1])}"
