"""Texts as a connection's tool profile can use them: none names a tool that the profile lacks.

Rules and tools word their hints for whoever has every tool. Here, at the one place where texts go on the wire, a
missing tool gives way to another that does the same, else the clause that names it is left out. Why not where the
texts are written: docs/adr/0125.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_agent_mail.core.arguments import WrongArguments
from mcp_agent_mail.core.errors import AgentMailError, in_sentences
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.profiles import NAMED, TOOLS, ToolProfile

_WHO_CALLS = """\
human_key is the absolute path of your working directory, which is project_key in every other call. Keep your name and \
the registration_token."""

INSTRUCTIONS = f"""\
Mail between coding agents. Begin with macro_start_session: {_WHO_CALLS} Between steps look again with \
fetch_inbox (unread_only=true). Before you edit files reserve them with file_reservation_paths, which tells under \
conflicts what another holds. Give them back with release_file_reservations once committed. Tell those whom your work \
concerns with send_message. Answer with reply_message. Where ack_required is set, acknowledge_message once you acted \
on it."""
"""Said to a client when it connects. At most 120 words: every session pays for them."""

INSTEAD: Mapping[str, str] = {
    "reply_message": "send_message with reply_to",
    "mark_message_read": "fetch_inbox with mark_read=true",
    "register_agent": "macro_start_session",
    "create_agent_identity": "macro_start_session",
    "ensure_project": "macro_start_session",
    "unretire_agent": "macro_start_session",
    "list_agents": "macro_start_session",
    "search_messages": "fetch_inbox",
    "read_mail": "fetch_inbox",
    "list_threads": "fetch_inbox",
    "renew_file_reservations": "file_reservation_paths",
    "check_file_reservation_conflicts": "file_reservation_paths",
}
"""What does as well, with the same arguments or none; a hint that names both then names it once."""

_RENAMED: Mapping[str, Mapping[str, str]] = {"register_agent": {"project_key": "human_key", "name": "agent_name"}}
"""Of a suggested call, where the tool that stands in calls its arguments otherwise. No other call is carried over."""

_NAME = lazy_pattern(rf"\b({'|'.join(sorted(TOOLS, key=len, reverse=True))})\b")
_SENTENCE = lazy_pattern(r"(?<=[.!?;])\s+")
_OR = ", or "
_SUGGESTED = "suggested_tool_calls"
_TOKEN = "registration_token"


def instructions(profile: ToolProfile, *, is_known: bool = False) -> str:
    """What a connection of this profile is told at its beginning. `is_known`: it has said its project and its name."""
    if profile.greeting is not None:
        return profile.greeting
    told = INSTRUCTIONS.replace(f": {_WHO_CALLS}", " (this connection says your project and name).")
    return fitted(told if is_known else INSTRUCTIONS, profile)


def fitted(text: str, profile: ToolProfile) -> str:
    """`text` in the tools of `profile`; empty where all of it is about others."""
    if profile.tools is None:
        return text
    sentences = (_fitted_sentence(sentence, profile) for sentence in _SENTENCE.split(text))
    kept = " ".join(sentence for sentence in sentences if sentence)
    for ours, theirs in profile.arguments.items():
        kept = re.sub(rf"\b{ours}\b", theirs, kept)
    return f"{kept[:-1]}." if kept.endswith(";") else kept


def fitted_error(error: AgentMailError, profile: ToolProfile) -> AgentMailError:
    """The refusal with its hint and its suggested calls in the tools of `profile`. Never without a next step, where it
    has one, but at a door.
    """
    if profile.tools is None:
        return error
    if isinstance(error, WrongArguments):
        way = fitted(error.way, profile)
        return error.reworded(hint=in_sentences(way, error.hint.removeprefix(error.way)), data=error.data)
    hint = error.hint and (fitted(error.hint, profile) or _elsewhere(_lacking(error.hint, profile), profile))
    suggested = (_fitted_call(call, profile) for call in error.data.get(_SUGGESTED, ()))
    calls = [call for call in suggested if call is not None]
    others = {key: value for key, value in error.data.items() if key != _SUGGESTED}
    return error.reworded(hint=hint, data={**others, _SUGGESTED: calls} if calls else others)


def instead_of(tool: str, profile: ToolProfile) -> str | None:
    """What `profile` has for a tool that it lacks."""
    instead = profile.instead.get(tool) or INSTEAD.get(tool)
    return instead if instead is not None and profile.shows(instead.partition(" ")[0]) else None


def way_to(tool: str, profile: ToolProfile) -> str | None:
    """What a connection of `profile`, which lacks the tool, does instead: another tool, or another profile. None where
    there is no such tool.
    """
    if tool not in TOOLS and tool not in profile.instead:
        return None
    instead = instead_of(tool, profile)
    return f"Use {instead}." if instead is not None else _elsewhere([tool], profile)


def _elsewhere(tools: Sequence[str], profile: ToolProfile) -> str:
    if not profile.name:
        return ""
    name = "core" if NAMED["core"].issuperset(tools) else "full"
    lacks = f"That takes a tool which the tool profile {profile.name} lacks"
    return f"{lacks}: connect with ?profile={name}, or ask Human."


def _fitted_sentence(sentence: str, profile: ToolProfile) -> str:
    told = _with_others(sentence, profile)
    if not _lacks(told, profile):
        return told
    clauses = [clause for clause in told.split(_OR) if not _lacks(clause, profile)]
    kept = _OR.join(clauses)
    if not kept:
        return ""
    if sentence[0].isupper():
        kept = f"{kept[0].upper()}{kept[1:]}"
    return kept if kept[-1] in ".!?;" else f"{kept}."


def _with_others(sentence: str, profile: ToolProfile) -> str:
    for tool in dict.fromkeys(_NAME.findall(sentence)):
        instead = None if profile.shows(tool) else instead_of(tool, profile)
        if instead is None:
            continue
        if re.search(rf"\b{instead.partition(' ')[0]}\b", sentence):
            # Of "a, b or c", where another of them is what stands in for this one.
            sentence = re.sub(rf"(, | and | or ){tool}(?=[,.;]| and | or |$)", "", sentence)
        sentence = re.sub(rf"\b{tool}\b", instead, sentence)
    return sentence


def _lacks(text: str, profile: ToolProfile) -> bool:
    # Where there is none of our tools, nobody takes an agent's token either.
    return bool(_lacking(text, profile)) or (not profile.name and _TOKEN in text)


def _lacking(text: str, profile: ToolProfile) -> list[str]:
    return [tool for tool in dict.fromkeys(_NAME.findall(text)) if not profile.shows(tool)]


# Plain JSON: an entry of `suggested_tool_calls`.
def _fitted_call(call: Mapping[str, Any], profile: ToolProfile) -> Mapping[str, Any] | None:
    tool = call["tool"]
    if profile.shows(tool):
        return call
    instead, renamed = instead_of(tool, profile), profile.suggested.get(tool, _RENAMED.get(tool))
    if instead is None or renamed is None:
        return None
    return {"tool": instead, "arguments": {renamed.get(key, key): value for key, value in call["arguments"].items()}}
