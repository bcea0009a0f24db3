"""What a send does about recipients who do not take the sender's mail: refuse it all, or hold their copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import AgentMailError, call_text, listed, suggest_call
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.contacts import (
    HELD_REASON,
    MAX_HELD_BYTES_OF_PAIR,
    MAX_HELD_COPIES_OF_PAIR,
    MAX_HELD_OF_MESSAGE,
    MAX_HELD_OF_PAIR,
    MAX_HELD_OF_TARGET,
    REQUEST_TTL_S,
    Relation,
    SenderDeclined,
    SenderNotWelcome,
    TargetRetired,
    TooMuchHeld,
    Verdict,
)
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.features.contacts.consent import ConsentContext, ConsentResult
from mcp_agent_mail.features.contacts.links import LinkRequest, ask
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.messaging.recipients import Skipped
from mcp_agent_mail.store.transaction import Tx, View

_CALLS_SUGGESTED = 10


def left_out(one: ConsentResult) -> Skipped:
    return Skipped(agent=one.recipient.agent.name, code=one.verdict.value, reason=one.reason)


def require_consent(
    view: View, about: ConsentContext, results: Mapping[AgentId, ConsentResult], *, hold: bool
) -> list[ConsentResult]:
    """Those whose copies are to be held. Raises for the whole message when one can neither be reached nor be asked."""
    everyone = list(results.values())
    for verdict in (Verdict.RECIPIENT_RETIRED, Verdict.CONTACT_BLOCKED):
        if any(one.verdict is verdict for one in everyone):
            raise _refusal(verdict, about, everyone)
    if not hold:
        raise _refusal(Verdict.CONTACT_REQUIRED, about, everyone)
    if len(everyone) > MAX_HELD_OF_MESSAGE:
        raise TooMuchHeld(
            f"{len(everyone)} recipients would have to approve you first; at most {MAX_HELD_OF_MESSAGE} of one message "
            "are asked. Nothing was sent.",
            hint="Name fewer of them at a time, or ask them with request_contact before.",
            data={"waiting": len(everyone), "max": MAX_HELD_OF_MESSAGE, "reason": everyone[0].reason},
        )
    for one in everyone:
        _require_room(view, about, one)
    return everyone


def _refusal(verdict: Verdict, about: ConsentContext, refused: Sequence[ConsentResult]) -> AgentMailError:
    these = [one for one in refused if one.verdict is verdict]
    names = [one.recipient.agent.name for one in these]
    told = [left_out(one) for one in refused]
    data = {"refused": [{"agent": one.agent, "code": one.code, "reason": one.reason} for one in told]}
    if verdict is Verdict.RECIPIENT_RETIRED:
        return TargetRetired(
            f"{listed(names[:10], 'and')} {'is' if len(names) == 1 else 'are'} retired; nothing was sent.",
            hint="Leave them out, or bring them back with unretire_agent.",
            data=data,
        )
    home = about.project
    if verdict is Verdict.CONTACT_BLOCKED:
        look = suggest_call("list_contacts", {"project_key": home.human_key, "agent_name": about.sender.name})
        return SenderDeclined(
            f"{listed([one.reason for one in these[:3]], 'and')}; nothing was sent.",
            hint="Only the recipient can change that: leave it out, or write to Human if it matters. "
            "list_contacts shows where you stand.",
            data=data | {"suggested_tool_calls": [look]},
        )
    return _ask_first(about, these, data)


def _ask_first(about: ConsentContext, these: Sequence[ConsentResult], data: Mapping[str, Any]) -> AgentMailError:
    """Whoever has been asked already is not to be asked again."""
    unasked = [one for one in these if one.relation is not Relation.PENDING]
    calls = [suggest_call("request_contact", _request_arguments(about, one)) for one in unasked[:_CALLS_SUGGESTED]]
    first = f"Ask first: {call_text(calls[0])}" if calls else "Wait for the answer"
    return SenderNotWelcome(
        f"{listed([one.reason for one in these[:3]], 'and')}; nothing was sent.",
        hint=f"{first}, or send again with auto_contact_if_blocked=true: the mail then waits for approval.",
        data={**data, "suggested_tool_calls": calls},
    )


def _request_arguments(about: ConsentContext, one: ConsentResult) -> dict[str, str]:
    home, agent, project = about.project, one.recipient.agent, one.recipient.project
    return {
        "project_key": home.human_key,
        "from_agent": about.sender.name,
        "to_agent": shown_name(agent.name, project.id, project.slug, home.id),
    }


def _require_room(view: View, about: ConsentContext, one: ConsentResult) -> None:
    """Both queues are bounded; full, the message is refused with the reason, and nothing of it is stored."""
    target = one.recipient
    waiting = view.held.waiting(about.sender.id, target.agent.id)
    name = shown_name(target.agent.name, target.project.id, target.project.slug, about.project.id)
    if (
        waiting.messages >= MAX_HELD_OF_PAIR
        or waiting.body_bytes >= MAX_HELD_BYTES_OF_PAIR
        or waiting.copies >= MAX_HELD_COPIES_OF_PAIR
    ):
        raise TooMuchHeld(
            f"{waiting.messages} of your messages ({waiting.body_bytes} bytes, {waiting.copies} copies) wait for "
            f"{name}'s approval already; nothing was sent.",
            hint=f"Wait until {name} has answered your contact request, or write to Human.",
            data={"agent": name, "waiting": waiting.messages, "max": MAX_HELD_OF_PAIR, "reason": one.reason},
        )
    if view.held.count_for(target.agent.id) >= MAX_HELD_OF_TARGET:
        raise TooMuchHeld(
            f"{MAX_HELD_OF_TARGET} messages wait for {name}'s approval already; nothing was sent.",
            hint="Try again when it has answered some requests, or write to Human.",
            data={"agent": name, "max": MAX_HELD_OF_TARGET, "reason": one.reason},
        )


def ask_for_held(tx: Tx, sender: Actor, held: Sequence[ConsentResult]) -> None:
    """The contact request that stands behind held mail. For a blind copy it is told to nobody else."""
    for one in held:
        request = LinkRequest(
            # A request that stands already keeps its own reason.
            reason="" if one.relation is Relation.PENDING else HELD_REASON,
            ttl=Micros(REQUEST_TTL_S * SECOND),
            is_private=one.recipient.kind is RecipientKind.BCC,
        )
        ask(tx, sender, Actor(agent=one.recipient.agent, project=one.recipient.project), request)
