"""Why a message has recipients that there are not, and whom its sender probably meant: all in one refusal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cache
from typing import Any

from mcp_agent_mail.core.errors import AgentMailError, RecipientNotFound, in_sentences, listed
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.likeness import one_hint_budget
from mcp_agent_mail.domain.addresses import FORMS, UnreadableAddress, parse_address, shown_name
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.likely_names import means_everyone, means_person, names_in
from mcp_agent_mail.domain.identity.names import HUMAN, SYSTEM, KnownNames, mistaken_for, name_key
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.lookup import (
    has_more,
    known_names,
    likely_agents,
    near_elsewhere,
    present_names,
    somebodys,
    told_present,
)
from mcp_agent_mail.store.transaction import View

_MAX_EXPLAINED = 5
"""For so many of them it is told whom each may mean."""
_MAX_NAMED = 10
_MAX_LISTED = 3
"""Agents of one name in other projects."""


_NamesOf = Callable[[ProjectId], KnownNames]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRecipient:
    """One that stands for no agent. `refusal` is why, where not even its project or its name could be read."""

    kind: RecipientKind
    text: str
    name: str
    project: Project
    refusal: AgentMailError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meaning:
    """`nearest`: any one of these was meant; `told` is how a hint names them. `several`: all of these were."""

    nearest: list[str]
    several: list[str]
    everyone: bool = False
    told: list[str] = field(default_factory=list)


def unknown_recipients(view: View, home: Project, unknown: Sequence[UnknownRecipient]) -> AgentMailError:
    """One refusal for them all: RecipientNotFound, or UnreadableAddress where nothing else is the matter. Nobody is
    guessed; its text holds what the next call needs.
    """
    names_of = cache(lambda project_id: known_names(view, project_id))
    with one_hint_budget():
        meanings = {one.text: _meaning(view, home, one, names_of) for one in unknown[:_MAX_EXPLAINED]}
    first = meanings[unknown[0].text]
    at_a_loss = [one for one in unknown if not _is_understood(meanings.get(one.text))]
    present = present_names(view, at_a_loss[0].project) if at_a_loss else []
    hint = in_sentences(
        _told_nearest(unknown, meanings),
        *(_told_several(one, meanings[one.text]) for one in unknown[:_MAX_EXPLAINED]),
        _EVERYONE if any(meaning.everyone for meaning in meanings.values()) else "",
        *_own_hints(unknown, at_a_loss),
        told_present(present),
        "list_agents shows who is there; nothing was sent." if has_more(present) else "Nothing was sent.",
    )
    data = {
        "unknown": [one.text for one in unknown],
        "nearest": first.nearest,
        "nearest_by_recipient": {text: meaning.nearest for text, meaning in meanings.items()},
        "project": unknown[0].project.human_key,
        **({"did_you_mean": first.several} if first.several else {}),
        **({"present": present} if present else {}),
    }
    return _refusal(unknown, hint, data)


def _refusal(unknown: Sequence[UnknownRecipient], hint: str, data: dict[str, Any]) -> AgentMailError:
    refusals = [one.refusal for one in unknown]
    message = in_sentences(*_facts(unknown))
    if all(isinstance(refusal, UnreadableAddress) for refusal in refusals):
        return UnreadableAddress(message, hint=hint, data={**data, "accepted": FORMS})
    known = next((refusal.data for refusal in refusals if refusal is not None), {})
    return RecipientNotFound(message, hint=hint, data=data if data["nearest"] else {**data, **known})


_EVERYONE = "To reach everyone active here: send_message with broadcast=true and without to."


def _is_understood(meaning: _Meaning | None) -> bool:
    return meaning is not None and (bool(meaning.nearest or meaning.several) or meaning.everyone)


def _own_hints(unknown: Sequence[UnknownRecipient], at_a_loss: Sequence[UnknownRecipient]) -> list[str]:
    """Of refused projects and addresses: where nothing else is known, or another project is near."""
    hints = [
        one.refusal.hint for one in unknown if one.refusal and (one in at_a_loss or one.refusal.data.get("nearest"))
    ]
    return list(dict.fromkeys(hints))[:_MAX_NAMED]


def _meaning(view: View, home: Project, one: UnknownRecipient, names_of: _NamesOf) -> _Meaning:
    if means_everyone(one.text):
        return _Meaning(nearest=[], several=[], everyone=True)
    if means_person(one.text):
        return _Meaning(nearest=[HUMAN], several=[], told=[HUMAN])
    if elsewhere := _elsewhere(view, one):
        return _Meaning(nearest=list(elsewhere), several=[], told=list(elsewhere.values()))
    close = names_of(one.project.id).nearest(one.name)
    if several := _several(view, home, one, close, names_of):
        return _Meaning(nearest=[], several=several)
    likely = [shown_name(name, one.project.id, one.project.slug, home.id) for name in close]
    told = [
        shown_name(name, one.project.id, one.project.slug, home.id) for name in names_of(one.project.id).told(close)
    ]
    if one.text.strip() == one.name and not mistaken_for(one.name, close):
        further = near_elsewhere(view, home, one.name)
        likely, told = [*further, *likely], [*further, *told]
    return _Meaning(nearest=likely[:_MAX_LISTED], several=[], told=told[:_MAX_LISTED])


def _elsewhere(view: View, one: UnknownRecipient) -> dict[str, str]:
    """Agents of this name in the projects that are near the one written, or where none is written in any: by address
    how a hint names them.
    """
    address = one.text.strip()
    agents: Sequence[Agent | None]
    if one.refusal is None:
        agents = [] if address != one.name else view.agents.find_everywhere(one.name)
    else:
        near = [view.projects.find_by_human_key(key) for key in one.refusal.data.get("nearest", ())]
        name = parse_address(address).name if near else ""
        agents = [view.agents.find_by_name(project.id, name) for project in near if project is not None]
    found = likely_agents(somebodys(view, (agent for agent in agents if agent is not None)))[:_MAX_LISTED]
    projects = [(agent, view.projects.find(agent.project_id)) for agent in found]
    return {
        (address := f"{agent.name}@{project.slug}"): f"{address} (retired)" if agent.is_retired else address
        for agent, project in projects
        if project is not None
    }


def _several(view: View, home: Project, one: UnknownRecipient, close: Sequence[str], names_of: _NamesOf) -> list[str]:
    """The recipients in a text that lists them, each as it is written here. Words apart by blanks alone are a list
    where every one of them is an agent: `Blue Lake` is one in another spelling.
    """
    parts = names_in(one.text)
    known = view.agents.find_by_names(home.id, parts)
    if len(known) < len(parts) and not any(mark in one.text for mark in ",;&+") and close:
        return []
    return [_as_written(part, known.get(name_key(part)), names_of(home.id)) for part in parts]


def _as_written(part: str, agent: Agent | None, candidates: KnownNames) -> str:
    if agent is not None:
        return agent.name
    likely = [] if "@" in part else candidates.nearest(part, limit=1)
    return likely[0] if likely else part


def _facts(unknown: Sequence[UnknownRecipient]) -> list[str]:
    """A sentence for each project that has not got them, and one for each that could not even be read."""
    facts = ["System receives no mail."] if any(_is_system(one) for one in unknown) else []
    by_project: dict[str, list[str]] = {}
    for one in unknown:
        if one.refusal is None and not _is_system(one):
            by_project.setdefault(one.project.human_key, []).append(f"{one.name!r:.100}")
    for key, names in list(by_project.items())[:_MAX_NAMED]:
        more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
        told = listed([*names[:_MAX_NAMED], *more])
        facts.append(f"{key} has no agent{'s' if len(names) > 1 else ''} {told}.")
    refused = dict.fromkeys(one.refusal.message for one in unknown if one.refusal is not None)
    return [*facts, *list(refused)[:_MAX_NAMED]]


def _is_system(one: UnknownRecipient) -> bool:
    return name_key(one.name) == name_key(SYSTEM)


def _told_nearest(unknown: Sequence[UnknownRecipient], meanings: dict[str, _Meaning]) -> str:
    close = {text: meaning.told for text, meaning in meanings.items() if meaning.told}
    if not close:
        return ""
    if len(unknown) == 1:
        (names,) = close.values()
        return f"Did you mean {listed(names)}?"
    return f"Did you mean {'; '.join(f'{listed(names)} for {text!r:.100}' for text, names in close.items())}?"


def _told_several(one: UnknownRecipient, meaning: _Meaning) -> str:
    if not meaning.several:
        return ""
    names = json.dumps(meaning.several[:_MAX_NAMED], ensure_ascii=False)
    told = f"{names[:-1]}, …]" if len(meaning.several) > _MAX_NAMED else names
    return f"{one.kind.value} is a list: {one.kind.value}={told}."
