"""Which resources can be watched, and who may: what a URI shows is found by the rules of reading it, without reading.

Nothing of it counts as reading, as activity or as evidence of anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.core.resources import ResourceSpec
from mcp_agent_mail.core.tools import Credentials, Handler, current_credentials
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.copy_changes import Watched, WatchedKey, WatchedKind
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.messaging.read import read_message, read_thread
from mcp_agent_mail.features.messaging.requests import MessageRequest, ThreadRequest
from mcp_agent_mail.features.messaging.visibility import open_inbox
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View

_MAILBOXES = frozenset({"inbox", "urgent-unread", "ack-required", "acks-stale", "ack-overdue"})
_WATCHABLE = "resource://inbox/{agent}, resource://views/…, resource://thread/{thread_id} and resource://message/{id}"

# A `Watched`.
Seen = Any


class NotWatchable(InvalidInput):
    """The resource can be read, and nobody tells when it changes."""


def watchable_resources(
    specs: Iterable[ResourceSpec], store: Store, current_caller: Callable[[], Awaitable[Caller]]
) -> list[ResourceSpec]:
    """The same URIs with the same keys as `specs`, each answered with its `Watched`, or refused as a read is."""
    handlers: Mapping[str, Handler] = {
        **dict.fromkeys(_MAILBOXES, _mailbox(store, current_caller)),
        "thread": _thread(store, current_caller),
        "message": _message(store, current_caller),
    }
    return [replace(spec, handler=handlers.get(spec.name, _refuse)) for spec in specs]


# The other keys of a URI choose what of the mailbox or thread is shown; any of it may have changed.
def _mailbox(store: Store, current_caller: Callable[[], Awaitable[Caller]]) -> Handler:
    async def mailbox(*, agent: str, project: str | None = None, **_others: object) -> Seen:
        caller, credentials = await current_caller(), current_credentials()
        return await store.read(lambda view: _watched_mailbox(view, caller, credentials, agent, project))

    return mailbox


def _thread(store: Store, current_caller: Callable[[], Awaitable[Caller]]) -> Handler:
    async def thread(*, thread_id: str, project: str | None = None, **_others: object) -> Seen:
        caller = await current_caller()
        request = ThreadRequest(project_key=project, thread_id=thread_id, limit=1, include_bodies=False, after_id=0)
        page = await store.read(lambda view: read_thread(view, caller, request))
        key = WatchedKey(WatchedKind.THREAD, page.thread_id)
        return Watched(key=key, project_id=page.mail.project.id, reader=_proven(caller))

    return thread


def _message(store: Store, current_caller: Callable[[], Awaitable[Caller]]) -> Handler:
    async def message(*, message_id: int, project: str | None = None, **_others: object) -> Seen:
        caller = await current_caller()
        request = MessageRequest(message_id=MessageId(message_id), project_key=project)
        seen = await store.read(lambda view: read_message(view, caller, request))
        return Watched(key=WatchedKey(WatchedKind.MESSAGE, seen.message.id), reader=_proven(caller))

    return message


async def _refuse(**_arguments: object) -> Seen:
    raise NotWatchable(
        "This resource cannot be subscribed to.", hint=f"{_WATCHABLE} can; read this one when you need it."
    )


def _watched_mailbox(
    view: View, caller: Caller, credentials: Credentials, agent_name: str, project_key: str | None
) -> Watched:
    mailbox = open_inbox(view, caller, agent_name, project_key)
    is_own = _is_own(view, caller, credentials, mailbox.agent, mailbox.project)
    return Watched(
        key=WatchedKey(WatchedKind.MAILBOX, mailbox.agent.id),
        reader=_proven(caller),
        listener=mailbox.agent.id if is_own else None,
    )


def _proven(caller: Caller) -> AgentId | None:
    return caller.agent_id if caller.kind is CallerKind.AGENT else None


def _is_own(view: View, caller: Caller, credentials: Credentials, agent: Agent, project: Project) -> bool:
    """By its token, else at its connection's word: a resource is anybody's to read."""
    if caller.kind is not CallerKind.ANONYMOUS:
        return caller.agent_id == agent.id
    said_agent, said_project = credentials.said_agent, credentials.said_project
    if said_agent is None or said_agent.strip().casefold() != agent.name.casefold():
        return False
    if said_project is None:
        return True
    try:
        return require_project(view, said_project).id == project.id
    except AgentMailError:
        return False
