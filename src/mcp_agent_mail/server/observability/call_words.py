"""What a call did, in words for whoever watches the server: never a body, a token, a blind recipient or one whose copy
is held. A reader of mail is not told with its id either: it may be a blind one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.escaping import written_on_one_line
from mcp_agent_mail.core.logging import without_tokens
from mcp_agent_mail.core.tools import Json

MAX_WORDS = 300
"""Of an error's fact, of its hint, and of what a call did: characters."""

_MAX_NAMES = 5
_MAX_SUBJECT = 80
_MAX_NAME = 64
_PLAIN_PLACE = re.compile(r"[\w.+/~-]+")
_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_CALLERS = ("agent_name", "sender_name", "from_agent", "requester", "name")
_PROJECT_ARGUMENTS = ("project_key", "human_key", "product_key")

Arguments = Mapping[str, Json]


def shown(text: object, limit: int = MAX_WORDS) -> str:
    """Text of peers as it may stand on a terminal: one line, at most `limit` characters, tokens masked."""
    line = written_on_one_line(without_tokens(str(text)[: 4 * limit]))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def named_project(arguments: Arguments, said: str | None) -> str | None:
    """The project as the call names it, else as its connection `said`; null counts as left out."""
    return next((named for name in _PROJECT_ARGUMENTS if isinstance(named := arguments.get(name), str)), said)


def project_of(arguments: Arguments, said: str | None) -> str:
    """The last part of the project's path, or its slug: as the call names it, else as its connection `said`; in quotes
    where that is more than one plain word. Empty where neither does.
    """
    named = str(named_project(arguments, said) or "")
    return _plain_or_quoted(PurePosixPath(named).name or named, _PLAIN_PLACE)


def tool_named(name: str, *, is_known: bool) -> str:
    """The tool's name, quoted where there is no such tool: then it is the caller's word."""
    return name if is_known else _quoted(name)


def _plain_or_quoted(text: str, plain: re.Pattern[str]) -> str:
    return shown(text, _MAX_NAME) if not text or plain.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    """No quote within it ends it."""
    words = shown(text[: 4 * _MAX_NAME].replace('"', "'"), _MAX_NAME)
    return f'"{words}"'


def caller_of(arguments: Arguments, result: Json, doer: str | None) -> str:
    """As whom the call was made: as the server recorded, else as its answer or its arguments say; in quotes where
    nobody can have that name.
    """
    agent = result.get("agent") if isinstance(result, dict) else None
    registered = agent.get("name") if isinstance(agent, dict) else None
    named = next((arguments[name] for name in _CALLERS if isinstance(arguments.get(name), str)), None)
    return _plain_or_quoted(str(doer or registered or named or "someone"), _PLAIN_NAME)


def what_was_done(tool: str, arguments: Arguments, result: Json) -> str:
    """`wrote to RedStone, cc Human: "Plan" (#38)`. A tool without words of its own, and an answer of an unknown shape,
    are told by the tool's name.
    """
    say = _SAID.get(tool)
    try:
        words = "" if say is None else say(arguments, result)
    except (LookupError, TypeError, ValueError, AttributeError):
        words = ""
    return shown(words or tool)


def why_refused(arguments: Arguments, error: AgentMailError) -> tuple[str, str]:
    """The error's fact and its hint. A call with blind recipients is told by the error's type alone: the text may name
    them.
    """
    if arguments.get("bcc"):
        return "", ""
    return shown(error.message), shown(error.hint) if error.hint else ""


def _listed(names: Iterable[object]) -> str:
    every = [str(name) for name in names]
    more = len(every) - _MAX_NAMES
    return ", ".join([*every[:_MAX_NAMES], *([f"{more} more"] if more > 0 else [])])


def _wrote(_: Arguments, result: Json) -> str:
    deliveries: Sequence[Json] = result["deliveries"]
    held = {str(one["agent"]).partition("@")[0] for one in result.get("held", ())}
    named: dict[str, list[str]] = {
        kind: [name for one in deliveries for name in one["payload"][kind] if name.partition("@")[0] not in held]
        for kind in ("to", "cc")
    }
    if not deliveries:
        return "wrote to nobody"
    first = deliveries[0]["payload"]
    if not any(named.values()):
        return f"wrote #{first['id']}"
    to = f" to {_listed(named['to'])}" if named["to"] else ""
    cc = f", cc {_listed(named['cc'])}" if named["cc"] else ""
    return f'wrote{to}{cc}: "{shown(first["subject"], _MAX_SUBJECT)}" (#{first["id"]})'


def _counted(verb: str, key: str) -> Callable[[Arguments, Json], str]:
    def say(_: Arguments, result: Json) -> str:
        marked = result.get("results", [result])
        count = sum(bool(one[key]) for one in marked)
        reasons = {str(one["reason"]): None for one in marked if one.get("reason") not in (None, "held")}
        why_not = _listed(reason.replace("_", " ") for reason in reasons)
        if not count:
            return f"{verb} nothing{f': {why_not}' if why_not else ''}"
        return f"{verb} {count} message{'' if count == 1 else 's'}{f', not all: {why_not}' if why_not else ''}"

    return say


def _patterns(leases: Iterable[Json]) -> str:
    return _listed(lease["path_pattern"] for lease in leases)


def _reserved(_: Arguments, result: Json) -> str:
    reserved = result.get("file_reservations", result)
    granted, conflicts = reserved["granted"], reserved["conflicts"]
    holders = dict.fromkeys(holder["agent"] for conflict in conflicts for holder in conflict["holders"])
    refused = f"was not given {_listed(one['path'] for one in conflicts)}, held by {_listed(holders)}"
    words = [*([f"reserved {_patterns(granted)}"] if granted else []), *([refused] if conflicts else [])]
    return "; ".join(words) or "reserved nothing"


def _released(_: Arguments, result: Json) -> str:
    return f"released {_patterns(result['file_reservations']) or 'nothing'}"


def _renewed(_: Arguments, result: Json) -> str:
    return f"renewed {_patterns(result['file_reservations']) or 'nothing'}"


def _took_slot(given: Arguments, result: Json) -> str:
    if result["granted"]:
        return f"took build slot {given['slot']}"
    holders = dict.fromkeys(holder["agent"] for holder in result["conflicts"])
    return f"was not given build slot {given['slot']}, held by {_listed(holders)}"


def _answered(_: Arguments, result: Json) -> str:
    return f"{'let' if result['approved'] else 'did not let'} {result['from']} write to {result['to']}"


def _fetched(_: Arguments, __: Json) -> str:
    return "read its inbox"


def _began(_: Arguments, result: Json) -> str:
    granted = (result.get("file_reservations") or {}).get("granted", ())
    return "began a session" + (f", reserved {_patterns(granted)}" if granted else "")


_SAID: Mapping[str, Callable[[Arguments, Json], str]] = {
    "send_message": _wrote,
    "reply_message": _wrote,
    "fetch_inbox": _fetched,
    "mark_message_read": _counted("read", "read"),
    "acknowledge_message": _counted("acknowledged", "acknowledged"),
    "file_reservation_paths": _reserved,
    "macro_file_reservation_cycle": _reserved,
    "release_file_reservations": _released,
    "renew_file_reservations": _renewed,
    "force_release_file_reservation": lambda _, result: f"released by force what {result['reservation']['agent']} held",
    "acquire_build_slot": _took_slot,
    "release_build_slot": lambda given, _: f"let go of build slot {given['slot']}",
    "register_agent": lambda given, _: f"is here ({given['program']}, {given['model']})",
    "create_agent_identity": lambda given, _: f"is here ({given['program']}, {given['model']})",
    "deregister_agent": lambda _, result: f"retired {result['agent_name']}",
    "unretire_agent": lambda _, result: f"brought {result['name']} back",
    "macro_start_session": _began,
    "macro_prepare_thread": lambda given, _: f"joined thread {given['thread_id']}",
    "set_status": lambda given, _: f"is {given['status']}",
    "set_contact_policy": lambda given, _: f"takes mail by the policy {given['policy']}",
    "request_contact": lambda _, result: f"asked to write to {result['to']}",
    "respond_contact": _answered,
    "ensure_project": lambda given, _: f"opened {given['human_key']}",
}
