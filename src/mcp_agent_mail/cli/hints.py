"""Hints are written for agents, who call tools; whoever runs `am` is told the commands that do the same.

One table, applied where an error is printed, so that no rule words its hint twice. Text of peers is no wording of the
server's: it is not translated.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping

from mcp_agent_mail.core.errors import AgentMailError, listed
from mcp_agent_mail.core.escaping import written_on_one_line
from mcp_agent_mail.core.profiles import CLUSTERS

COMMANDS = {
    "acknowledge_message": "am mail ack",
    "archive_project": "am projects archive",
    "check_file_reservation_conflicts": "am guard check",
    "checkout_archive_month": "am archive checkout",
    "create_issued_token": "am token create",
    "create_join_code": "am projects invite",
    "create_sign_in_link": "am web",
    "deregister_agent": "am agents retire",
    "ensure_product": "am products ensure",
    "ensure_project": "am projects ensure",
    "expire_window": "am agents expire-window",
    "fetch_inbox": "am mail inbox",
    "fetch_inbox_product": "am products inbox",
    "fetch_summary": "am mail summary --stored",
    "fetch_topic": "am mail topic",
    "force_release_file_reservation": "am reservations release",
    "health_check": "am status",
    "held_mail": "am mail held",
    "install_precommit_guard": "am guard install",
    "list_agents": "am agents list",
    "list_contacts": "am contacts list",
    "list_guard_events": "am guard log",
    "list_issued_tokens": "am token list",
    "list_join_codes": "am projects codes",
    "list_threads": "am mail threads",
    "list_window_identities": "am agents windows",
    "message_status": "am mail status",
    "owed_acknowledgements": "am acks pending",
    "products_link": "am products link",
    "purge_old_messages": "am mail purge",
    "read_mail": "am mail read",
    "reissue_token": "am token reissue",
    "release_file_reservations": "am reservations release",
    "remind_acknowledgements": "am acks remind",
    "rename_window": "am agents rename-window",
    "reply_message": "am mail reply ID",
    "revoke_issued_token": "am token revoke",
    "revoke_join_code": "am projects revoke-code",
    "search_messages": "am mail search",
    "search_messages_product": "am products search",
    "send_message": "am mail send",
    "set_contact_policy": "am contacts policy",
    "set_status": "am agents status",
    "summarize_recent": "am mail summary",
    "summarize_thread": "am mail summary",
    "summarize_thread_product": "am products summary",
    "unarchive_project": "am projects unarchive",
    "uninstall_precommit_guard": "am guard uninstall",
    "unretire_agent": "am agents unretire",
    "wait_for_messages": "am wait",
    "whois": "am agents show",
    "withdraw_message": "am mail withdraw",
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

AS_HUMAN = "Human"
"""What a command may do instead that was refused as the overseer."""
OPERATORS = {
    AS_HUMAN: "AGENT_MAIL_TOKEN needs a token of the role operator: am token create --role operator on the server's "
    "machine."
}

VARIABLES = {"Authorization": "AGENT_MAIL_TOKEN", "X-Agent-Token": "AGENT_MAIL_AGENT_TOKEN"}
"""The setting whose value a command sends in the header."""

_AGENTS_ONLY = frozenset(tool for tools in CLUSTERS.values() for tool in tools) - COMMANDS.keys()
NOTHING_INSTEAD: Mapping[str, str] = {}
_OVER_MCP = " (over MCP)"
_IN_TOKEN = "in AGENT_MAIL_TOKEN"
_NAMED = ("project_key", "agent_name", "human_key")
"""Arguments that the command takes as its first word, where the call in the hint has just one of them."""

_VALUE = r"(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
_BRACKETED = rf"(?:[^()'\"\n]|{_VALUE}|\((?:[^()'\"\n]|{_VALUE})*\))*"
_CUT_SHORT = r"[^\n]*"
"""What stands in brackets where a hint was cut, or quotes something that is no value."""

_ONE_ARGUMENT = re.compile(rf"\s*(?P<name>\w+)=(?P<value>{_VALUE})\s*")
_EACH = "--to for each that am agents list names"
_OPTIONS = {"thread_id": "--thread", "reply_to": "--reply-to", "valid_until": "--valid-until"}

_DATA = rf"(?<!\w){_VALUE}|(?<![\w/:.])/\S*"
"""Outside of calls: in quotes, or a path."""
_LIST = r"\b(?P<kind>to|cc|bcc) is a list: (?P=kind)=(?P<names>\[[^\]\n]*\])"
_CALL = (
    rf"`?\b(?P<tool>{'|'.join(sorted((*COMMANDS, *_AGENTS_ONLY), key=len, reverse=True))})\b"
    rf"(?:\((?:(?P<arguments>{_BRACKETED})\)|{_CUT_SHORT}))?(?P<to_all> with broadcast=true(?: and without to)?)?`?"
)
_TO_ALL = r"\b(?:with |set )?broadcast=true\b(?: and without to\b)?"
_OPTION = rf"\b(?:{'|'.join(_OPTIONS)})\b(?!=)"
_ONLY_IN_CALLS = r"(?<!agent's )\b(?:auto_contact_if_blocked|register_if_missing|wait_seconds)=\w+"
"""No command has an option for these."""
_TOKEN_WAYS = (
    r"(?:as argument registration_token(?:, | or ))?as header X-Agent-Token(?: or as Authorization: Bearer)?"
    r"(?:; a tool takes it as argument registration_token)?"
)
_TOKEN_PLACES = r"Each of Authorization, X-Agent-Token and the argument registration_token counts"
_AS_BEARER = r"as Authorization: Bearer"
_REGISTER = r"Register under a name of your own"
_AS_HUMAN = r"Act as a registered agent, or use `am mail`\.|The operator runs `am` on the machine of the server\."
"""Whoever is told so runs `am` already: a server of another store knows its operator by a token alone."""
_UNCONVERTED = r"\bconvert_images=false\b"
_FROM_PROJECT = (
    r"Give a path relative to the project's directory, or the content itself as a data: URI\.|"
    r"Copy the file into the project's directory, then give '[^'\n]*'; or give the content itself as a data: URI\."
)
"""A person's paths begin where the person stands, and lead anywhere."""
_RESOURCE = rf"(?P<named>{'|'.join(RESOURCES)})(?:/[^\s,;?]*[^\s,;?.])?"
_PROJECT_QUERY = r"\?project= ?(?=\S)"


def in_variables(error: AgentMailError) -> str:
    """The fact of a refusal: of tokens that are nobody's, by the settings that hold them."""
    places = error.data.get("given_in")
    names = [VARIABLES[place] for place in map(str, places) if place in VARIABLES] if isinstance(places, list) else []
    return f"{listed(names, 'and')} {'is' if len(names) == 1 else 'are'} not valid here." if names else error.message


def in_commands(hint: str, data: object = None, *, instead: Mapping[str, str] = NOTHING_INSTEAD) -> str:
    """The hint with commands for tools and resources, and settings for headers; what has no command is said to be asked
    over MCP. `instead`: tools and resources that have another command than that of COMMANDS and RESOURCES.

    It is read once, from its beginning: what stands in quotes, paths, and the paths of the error's `data` stay as they
    are.
    """
    commands = {**COMMANDS, **RESOURCES, **OPERATORS, **instead}
    paths = sorted({re.escape(path) for path in _paths_in(data)}, key=len, reverse=True)
    wording = re.compile("|".join([*paths, _ANY, _DATA]))
    return wording.sub(
        lambda found: _WORDINGS[found.lastgroup][1](found, commands) if found.lastgroup else found[0], hint
    )


def _paths_in(data: object) -> Iterator[str]:
    """With blanks and all, which a path in a sentence does not tell from the sentence's own."""
    if isinstance(data, str) and data.startswith("/"):
        yield data
    elif isinstance(data, dict):
        for value in data.values():
            yield from _paths_in(value)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from _paths_in(value)


def _each_by_itself(found: re.Match[str], _: Mapping[str, str]) -> str:
    """`--to A --to B` for a list of recipients."""
    option = f"--{found['kind']}"
    try:
        words = [_word(str(name)) for name in json.loads(found["names"])]
    except (ValueError, RecursionError):
        words = [None]
    if None in words:
        return f"{option} takes one name; repeat it for more"
    return f"{option} takes one name: {' '.join(f'{option} {word}' for word in words)}"


def _command(found: re.Match[str], commands: Mapping[str, str]) -> str:
    tool = found["tool"]
    if tool == "whois" and found["arguments"] is None:
        return found[0]
    if tool == "ensure_project":
        return f"am projects list shows them and --project names one; {_with_word(found, commands)}"
    if tool not in COMMANDS:
        return f"{found[0]}{_OVER_MCP}"
    if found["to_all"]:
        return f"{commands[tool]} with {_EACH}"
    return _with_word(found, commands)


def _with_word(found: re.Match[str], commands: Mapping[str, str]) -> str:
    """The command for the tool, with the one value of the call that it takes as its first word."""
    tool = found["tool"]
    one = _ONE_ARGUMENT.fullmatch(found["arguments"] or "")
    if one is None or one["name"] not in _NAMED:
        return commands[tool]
    word = _word(_text(one["value"]))
    return commands[tool] if word is None else f"{commands[tool]} {word}"


def _word(text: str) -> str | None:
    """As the shell takes it; None for what would not stand in the line as it is."""
    return shlex.quote(text) if written_on_one_line(text) == text else None


def _text(value: str) -> str:
    """What a quoted value of a call stands for."""
    try:
        return str(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return value[1:-1]


_WORDINGS: dict[str, tuple[str, Callable[[re.Match[str], Mapping[str, str]], str]]] = {
    "list": (_LIST, _each_by_itself),
    "call": (_CALL, _command),
    "to_everyone": (_TO_ALL, lambda *_: _EACH),
    "option": (_OPTION, lambda found, _: _OPTIONS[found[0]]),
    "unconverted": (_UNCONVERTED, lambda *_: "--no-convert"),
    "from_project": (_FROM_PROJECT, lambda *_: "--attach takes a path from the folder where you stand."),
    "in_calls": (_ONLY_IN_CALLS, lambda found, _: f"{found[0]}{_OVER_MCP}"),
    "resource": (_RESOURCE, lambda found, commands: commands[found["named"]]),
    "project": (_PROJECT_QUERY, lambda *_: "--project "),
    "token_ways": (_TOKEN_WAYS, lambda *_: f"in AGENT_MAIL_AGENT_TOKEN, or one that was issued for it {_IN_TOKEN}"),
    "token_places": (_TOKEN_PLACES, lambda *_: f"Each of {listed([*VARIABLES.values()], 'and')} counts"),
    "as_bearer": (_AS_BEARER, lambda *_: _IN_TOKEN),
    "as_human": (_AS_HUMAN, lambda _, commands: commands[AS_HUMAN]),
    "register": (_REGISTER, lambda found, _: f"{found[0]}{_OVER_MCP}"),
}
_ANY = "|".join(f"(?P<{name}>{pattern})" for name, (pattern, _) in _WORDINGS.items())
