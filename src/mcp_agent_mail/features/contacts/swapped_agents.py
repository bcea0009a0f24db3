"""Who has mixed up the two sides of a contact call: recognised where the swap makes sense, never done unasked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, suggest_call
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import UnreadableAddress, parse_address
from mcp_agent_mail.domain.contacts import Relation
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, WrongToken
from mcp_agent_mail.domain.identity.names import UnknownAgent, name_key
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.transaction import View


class RequestMissing(InvalidInput):
    """The agent named as answering has asked, and waits for the other's answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactCall:
    """`acting` makes the call, in the project; `swapped` are the arguments with the sides changed."""

    tool: str
    project_key: str
    acting: str
    other: str
    other_project: str | None
    swapped: Mapping[str, object]

    def __str__(self) -> str:
        given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.swapped.items())
        return f"{self.tool}({given})"


def request_call(project_key: str, from_agent: str, to_agent: str, to_project: str | None) -> ContactCall:
    """Of `request_contact`: whoever asks acts."""
    project = {} if to_project is None else {"to_project": to_project}
    return ContactCall(
        tool="request_contact",
        project_key=project_key,
        acting=from_agent,
        other=to_agent,
        other_project=to_project,
        swapped={"project_key": project_key, "from_agent": to_agent, "to_agent": from_agent, **project},
    )


def answer_call(
    project_key: str, to_agent: str, from_agent: str, from_project: str | None, *, accept: bool
) -> ContactCall:
    """Of `respond_contact`: whoever was asked acts."""
    sides = {"to_agent": from_agent, "from_agent": to_agent, "accept": accept}
    project = {} if from_project is None else {"from_project": from_project}
    return ContactCall(
        tool="respond_contact",
        project_key=project_key,
        acting=to_agent,
        other=from_agent,
        other_project=from_project,
        swapped={"project_key": project_key, **sides, **project},
    )


@contextmanager
def telling_of_swap(view: View, caller: Caller, call: ContactCall) -> Iterator[None]:
    """Around the look for who acts: a refusal has the call with the sides changed as its hint where that would be
    right.
    """
    try:
        yield
    except (UnknownAgent, WrongToken) as refused:
        if _is_swapped(view, caller, call):
            _suggest(refused, call, f"from_agent and to_agent are mixed up? {call}")
        raise


def _suggest(refused: AgentMailError, call: ContactCall, hint: str) -> None:
    refused.hint = hint
    refused.data["suggested_tool_calls"] = [suggest_call(call.tool, call.swapped)]


def _is_swapped(view: View, caller: Caller, call: ContactCall) -> bool:
    """The other is of this project, and either the caller is proven to be it, or the one who acts is elsewhere."""
    home = require_project(view, call.project_key)
    if view.agents.find_by_name(home.id, call.other) is None:
        return False
    proven = caller.name_in(home.id)
    if proven is not None:
        return name_key(proven) == name_key(call.other)
    return view.agents.find_by_name(home.id, call.acting) is None and _is_elsewhere(view, caller, call)


def _is_elsewhere(view: View, caller: Caller, call: ContactCall) -> bool:
    try:
        address = parse_address(call.acting)
        key = address.project_key or call.other_project
        if key is None:
            if caller.auth is not AgentAuth.OPEN:
                return False  # Who has asked whom is for those who are proven.
            other = view.agents.find_by_name(require_project(view, call.project_key).id, call.other)
            return other is not None and bool(view.contacts.inbound_named(other.id, call.acting, limit=1))
        return view.agents.find_by_name(require_project(view, key).id, address.name) is not None
    except (UnreadableAddress, UnknownProject):
        return False


def require_asked(view: View, source: Actor, target: Actor, call: ContactCall) -> None:
    """Raise RequestMissing where `target`, unproven, answers `source`, who has not asked it, while it has itself asked
    `source`: its word would let in whom nobody asked about, and its own request would go on waiting.
    """
    if target.verified or _relation(view, source, target) is not Relation.NONE:
        return
    if _relation(view, target, source) is not Relation.PENDING:
        return
    name, other = target.agent.name, source.agent.name
    refused = RequestMissing(f"{other} has not asked {name}: {name} has asked {other}, and waits for its answer.")
    unasked = f"Or are you {name}, and let {other} write to you unasked? Then send your registration_token."
    _suggest(refused, call, f"Are you {other}? {call}. {unasked}")
    raise refused


def _relation(view: View, source: Actor, target: Actor) -> Relation:
    link = view.contacts.find(source.agent.id, target.agent.id)
    return Relation.NONE if link is None else link.relation(view.now)
