"""The person marks mail to `Human`: read, or acknowledged. What came to an agent is the agent's own to mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mcp_agent_mail.core.errors import Conflict, InvalidInput, PermissionDenied
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.identity.names import HUMAN
from mcp_agent_mail.features.oversight.human_mail import HumanReceipt
from mcp_agent_mail.web.addresses import own_path
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.message import message_number
from mcp_agent_mail.web.request import PageAnswer, redirect

SHOWN = 5
"""So many messages a refusal names."""


class NothingMarked(InvalidInput):
    """No message was chosen, or nothing that is done with one."""


class MailOfAgents(PermissionDenied):
    """Mail that did not come to `Human`."""


class AlreadyGone(Conflict):
    """Mail that can no longer be marked: it expired unread, or was withdrawn."""


class _Act(NamedTuple):
    tool: str
    done: str
    """The key of the tool's answer that says whether it is so."""


_ACTS = {
    "read": _Act("mark_message_read", "read"),
    "acknowledge": _Act("acknowledge_message", "acknowledged"),
}


async def mark(page: PageContext) -> PageAnswer:
    """Mark all that was chosen, or nothing where one of them did not come to `Human`. A repeat changes nothing."""
    act = _ACTS.get(page.request.field("act"))
    chosen = list(dict.fromkeys(message_number(text) for text in page.request.form.get("message", ())))
    if act is None or not chosen:
        raise NothingMarked("Nothing is chosen.", hint="Choose messages by their boxes, then press a button.")
    found = await page.services.pages.human_mail.find(page.caller, chosen)
    if others := [one for one in chosen if one not in found]:
        raise MailOfAgents(
            f"Not mail to Human: {_numbers(others)}. Nothing was marked.",
            hint="An agent's mail is marked by the agent alone: what it read and acknowledged is its own word.",
        )
    left: list[int] = []
    for project_key, ids in _by_project(found).items():
        arguments: JsonObject = {"project_key": project_key, "agent_name": HUMAN, "message_ids": ids}
        answer = await page.host.run_tool(act.tool, arguments)
        left += [one["message_id"] for one in answer["results"] if not one[act.done]]
    if left:
        raise AlreadyGone(
            f"Not marked: {_numbers(left)}. It expired unread, or was withdrawn.", hint="The others are marked."
        )
    return redirect(own_path(page.request.field("back")))


def _by_project(found: Mapping[MessageId, HumanReceipt]) -> Mapping[str, list[int]]:
    by_project: dict[str, list[int]] = {}
    for one in found.values():
        for project in one.projects:
            by_project.setdefault(project.human_key, []).append(one.message_id)
    return by_project


def _numbers(ids: Sequence[int]) -> str:
    shown = ", ".join(f"#{one}" for one in ids[:SHOWN])
    return f"{shown} and {len(ids) - SHOWN} more" if len(ids) > SHOWN else shown
