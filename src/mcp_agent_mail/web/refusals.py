"""What a refusal is over HTTP, and how a person reads it.

The rules word their refusals for whoever calls tools. A person has pages and a terminal: no hint of a page names a
tool or an argument, but what to press, which page to open, or which command of `am` to run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from mcp_agent_mail.core.errors import (
    AgentMailError,
    AuthenticationRequired,
    Busy,
    Conflict,
    ContactBlocked,
    ContactRequired,
    IdempotencyKeyConflict,
    Internal,
    InvalidInput,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    RateLimited,
    RecipientNotFound,
    RecipientRetired,
    Unavailable,
    in_sentences,
    listed,
)
from mcp_agent_mail.domain.addresses import UnreadableAddress
from mcp_agent_mail.domain.identity.names import UnknownAgent
from mcp_agent_mail.domain.messages import BodyTooLong, UnfitSubject
from mcp_agent_mail.domain.projects import ProjectArchived, UnknownProject, is_path
from mcp_agent_mail.domain.threads import ReservedThread, ThreadMismatch, UnfitThread, UnknownThread
from mcp_agent_mail.features.messaging.attachments import UnknownAttachment
from mcp_agent_mail.features.messaging.recipients import NobodyAddressed, TooManyRecipients
from mcp_agent_mail.features.messaging.send import BroadcastNamesRecipients
from mcp_agent_mail.features.messaging.visibility import UnknownMessage
from mcp_agent_mail.features.projects.lookup import AmbiguousProject

AS_OPERATOR = (
    "Sign in as the operator: run `am web` on the server's machine, or paste a token of "
    "`am token create --role operator`."
)

_STATUS: tuple[tuple[type[AgentMailError], int], ...] = (
    (AuthenticationRequired, 401),
    (PermissionDenied, 403),
    (NotFound, 404),
    (Conflict, 409),
    (RateLimited, 429),
    (Busy, 503),
    (Unavailable, 503),
    (Internal, 500),
)

_ON_PROJECTS = "The page Projects lists all that there are."
_NEXT: tuple[tuple[type[AgentMailError], str], ...] = (
    (UnknownProject, _ON_PROJECTS),
    (ProjectArchived, "In a terminal, `am projects unarchive` brings it back."),
    (UnknownMessage, "Open it from a list or a search: a message's number stands at its head."),
    (UnknownThread, "Open a thread from one of its messages; letter case counts in its name."),
    (UnknownAttachment, "Open it from the message that carries it, or from the page Attachments."),
    (UnknownAgent, "The page Agents of the project lists all that there are."),
    (RecipientNotFound, "Choose of the names that To offers; Name@project is one elsewhere. Nothing was sent."),
    (UnreadableAddress, "Write a name, or Name@project for one elsewhere. Nothing was sent."),
    (NobodyAddressed, "Write a name in To, or choose every active agent below it."),
    (BroadcastNamesRecipients, "Empty To, or take the mark off every active agent."),
    (TooManyRecipients, "Choose every active agent instead, or send it in several messages."),
    (RecipientRetired, "Take it out of To: it reads no mail any more."),
    (ContactRequired, "Its mail is for its contacts: approve one on the page Contacts."),
    (ContactBlocked, "Only the recipient can change that: take it out of To."),
    (QuotaExceeded, "Wait until some of it is read, or take it out of To."),
    (ThreadMismatch, "Empty the field Thread: an answer joins the thread of what it answers."),
    (ReservedThread, "Use another name, like task-12: those of digits alone are the server's."),
    (UnfitThread, "Use a name like TKT-123: letters, digits, dots and dashes."),
    (BodyTooLong, "Write the essence, and say in which file the rest stands."),
    (AuthenticationRequired, "Sign in: run `am web` on the server's machine, or paste a token that opens this server."),
    (PermissionDenied, AS_OPERATOR),
    (Internal, "It is in the server's log. Load the page again; `am doctor check` says whether anything is wrong."),
    (Unavailable, "Load the page again in 2 s; `am status` says what waits."),
    (IdempotencyKeyConflict, "Open the page again and press its button there."),
    (Conflict, "Open the page again: it shows how things are by now."),
    (NotFound, "Begin at /mail, or look for it in the search."),
    (InvalidInput, "Go back, change what you wrote, and press the button again."),
)
"""The next step where a rule's own is for tools, by the kind that fits first."""

_REWORDED = (
    UnknownProject,
    UnknownMessage,
    UnknownThread,
    UnknownAgent,
    UnknownAttachment,
    RecipientNotFound,
    UnreadableAddress,
    BroadcastNamesRecipients,
    BodyTooLong,
    UnfitThread,
    ReservedThread,
)
"""Of these, what the rule says next is for tools, even where it names none."""

_FACTS: tuple[tuple[type[AgentMailError], str], ...] = (
    (NobodyAddressed, "Nobody is named."),
    (BroadcastNamesRecipients, "Both names and every active agent are chosen."),
)

_FIELDS = {"to": "To", "subject": "The subject", "body_md": "The text", "thread_id": "The thread"}
"""What the page calls them."""
_OF_TO = (
    RecipientNotFound,
    RecipientRetired,
    ContactRequired,
    ContactBlocked,
    QuotaExceeded,
    UnreadableAddress,
    AmbiguousProject,
)

_ARGUMENT = r"\w\s?=\s?[\w\[\"'{]|resource://|\btools?\b"
_FACT_OF_TOOLS = re.compile(_ARGUMENT)
_HINT_OF_TOOLS = re.compile(
    rf"{_ARGUMENT}|(?<![/\w])[a-z]+(?:_[a-z]+)+\b|[Cc]all again|^Send\b|runs `am`"
    r"|\b(?:[Aa]ct as|register|registered|registration)\b"
)
_ARGUMENT_NAME = re.compile(r"[a-z]+(?:_[a-z]+)+")
_QUOTED = re.compile(r"'[^']*'")
_WAIT = re.compile(r"\bagain in \d|^Wait\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_MINUTE_S = 60
_LONG_S = 120


def retry_header(error: AgentMailError) -> tuple[tuple[str, str], ...]:
    """When to come again, where the refusal says it."""
    retry_after_s = error.data.get("retry_after_s")
    if not isinstance(retry_after_s, (int, float)):
        return ()
    return (("retry-after", str(max(1, math.ceil(retry_after_s)))),)


def status_of(error: AgentMailError) -> int:
    """400 for what was asked in a way that cannot be done."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 400)


def for_people(error: AgentMailError) -> AgentMailError:
    """The refusal as a person reads it, who may press and run things, and calls no tool."""
    return error.reworded(message=_fact(error), hint=_next_step(error), data=error.data)


def for_writers(error: AgentMailError) -> AgentMailError:
    """As `for_people`, of mail that was not sent: it says that nothing was, where that is certain and not said yet."""
    told = for_people(error)
    if status_of(error) >= 500 or "nothing was sent" in told.text.lower():
        return told
    return told.reworded(hint=in_sentences(told.hint, "Nothing was sent."), data=told.data)


def fields_of(error: AgentMailError) -> Sequence[str]:
    """The fields of a form that the refusal is about, in their order."""
    missing, said = error.data.get("missing"), error.data.get("parameter")
    if said in _FIELDS:
        return [one for one in _FIELDS if one == said or (isinstance(missing, list) and one in missing)]
    return ["to"] if isinstance(error, _OF_TO) or "recipient" in error.data else []


def in_time(seconds: float) -> str:
    """A wait as it stands in a sentence: never less than there is to wait."""
    whole = max(1, math.ceil(seconds))
    return f"{whole} s" if whole < _LONG_S else f"{math.ceil(whole / _MINUTE_S)} minutes"


def _fact(error: AgentMailError) -> str:
    told = next((fact for kind, fact in _FACTS if isinstance(error, kind)), "")
    if told:
        return told
    if _is_blank_subject(error):
        return "The subject is empty."
    if isinstance(error, (RecipientNotFound, UnknownAgent)):
        return _as_pages_call_it(error)
    name, separator, rest = error.message.partition(" ")
    if separator and name in _FIELDS and name == error.data.get("parameter"):
        return f"{_FIELDS[name]} {rest}"
    if separator and _ARGUMENT_NAME.fullmatch(name):
        return f"The {name.replace('_', ' ')} {rest}"
    kept = _without(_FACT_OF_TOOLS, error.message)
    return kept or "That cannot be done from here."


def _is_blank_subject(error: AgentMailError) -> bool:
    return isinstance(error, UnfitSubject) and "max_length" not in error.data and "blank" in error.message


def _as_pages_call_it(error: AgentMailError) -> str:
    """The fact with the project's name in the place of its directory, which no page shows."""
    key = error.data.get("project")
    if not isinstance(key, str) or not is_path(key):
        return error.message
    name = key.rstrip("/").rpartition("/")[2] or key
    return error.message.replace(f"{key} has no agent", f"{name} has no agent").replace(f" in {key}.", f" in {name}.")


def _next_step(error: AgentMailError) -> str:
    wait_s = error.data.get("retry_after_s")
    if isinstance(wait_s, (int, float)):
        holder = error.data.get("holder")
        wait = f"{f'Write to {holder}, or try' if holder else 'Try'} again in {in_time(wait_s)}."
        return in_sentences(_without(_WAIT, _without(_HINT_OF_TOOLS, error.hint)), wait)
    if _is_blank_subject(error):
        return "Write a subject."
    if isinstance(error, UnfitSubject) and "max_length" not in error.data:
        return "Write one of signs that can be seen."
    near = error.data.get("nearest") or error.data.get("did_you_mean")
    meant = f"Did you mean {listed([str(one) for one in near])}? " if isinstance(near, list) and near else ""
    own = "" if isinstance(error, _REWORDED) else _without(_HINT_OF_TOOLS, error.hint)
    return own or meant + next((told for kind, told in _NEXT if isinstance(error, kind)), "Begin at /mail.")


def _without(unfit: re.Pattern[str], text: str) -> str:
    """The sentences that are no such; what they quote is somebody's own."""
    return " ".join(one for one in _SENTENCE.split(text.strip()) if one and not unfit.search(_QUOTED.sub("", one)))
