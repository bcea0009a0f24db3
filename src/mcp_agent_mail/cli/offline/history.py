"""Looks back over a store and its archives: read from their files, beside a server or without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp_agent_mail.cli.commands.all_projects import is_outside
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.project_option import absolute_key, project_key
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.history.file_leases import read_leases_of_file
from mcp_agent_mail.features.history.message_events import read_message_events
from mcp_agent_mail.features.history.past_inboxes import StorePlaces, read_past_inbox
from mcp_agent_mail.features.history.profile_changes import read_profile_changes
from mcp_agent_mail.features.history.shapes import (
    show_agent_history,
    show_held_lease,
    show_message_history,
    show_past_inbox,
)
from mcp_agent_mail.features.messaging.visibility import find_mailbox
from mcp_agent_mail.features.projects.lookup import called_by_people, looking_at_disk, require_project
from mcp_agent_mail.store.transaction import View, open_view

# Plain JSON, as `--json` prints it.
Answer = dict[str, Any]


def message_history(context: CliContext, message_id: MessageId, project: str | None, *, limit: int) -> Answer:
    """What became of a message, whoever's it is; seen from its sender's project unless one is named."""
    with _view(context) as view:
        key = None if project is None else absolute_key(project, "--project")
        return show_message_history(read_message_events(view, message_id, key, limit))


def agent_history(context: CliContext, name: str, project: str | None, *, limit: int) -> Answer:
    """What an agent was over time."""
    with _view(context) as view:
        agent, home = _mailbox(view, context, name, project)
        return show_agent_history(read_profile_changes(view, agent, home, context.storage_root, limit))


def file_history(context: CliContext, path: str, project: str | None, *, limit: int) -> list[Answer]:
    """Who held leases that cover a path of the project, newest first."""
    with _view(context) as view:
        home = require_project(view, project_key(project, context))
        return [show_held_lease(one) for one in read_leases_of_file(view, home, path, limit)]


def past_inbox(context: CliContext, name: str, at: Micros, project: str | None, *, limit: int) -> list[Answer]:
    """An agent's inbox as it was at a time."""
    with _view(context) as view:
        agent, home = _mailbox(view, context, name, project)
        places = StorePlaces(storage_root=context.storage_root)
        return show_past_inbox(read_past_inbox(view, agent, home, places, at=at, limit=limit))


@contextmanager
def _view(context: CliContext) -> Iterator[View]:
    context.require_store(
        hint="am history reads the store's files: run it where the server's STORAGE_ROOT is (am config show)."
    )
    with open_view(context.settings.database_path) as view, looking_at_disk(), called_by_people():
        yield view


def _mailbox(view: View, context: CliContext, name: str, project: str | None) -> tuple[Agent, Project]:
    """The agent of the project that was named, else of that where one stands; outside of any project the only one of
    this name.
    """
    try:
        return find_mailbox(view, name, project_key(project, context))
    except AgentMailError as refused:
        if not is_outside(refused, project, context):
            raise
    return find_mailbox(view, name, None)
