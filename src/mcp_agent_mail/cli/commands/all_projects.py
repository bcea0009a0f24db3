"""Outside of any project a command is about all of them: which those are, and what is found in each."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.exit_codes import code_of
from mcp_agent_mail.cli.gateway.port import Gateway
from mcp_agent_mail.cli.mail.meant_threads import thread_in
from mcp_agent_mail.cli.project_option import agents_of, list_uri, resource_uri
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, NotFound
from mcp_agent_mail.core.escaping import visible

_PAGE = 200
_MAX_PROJECTS = 1_000
"""Each is asked by itself."""

# Plain JSON, as `--json` prints it.
Answer = dict[str, Any]


def is_outside(refused: AgentMailError, project: str | None, context: CliContext) -> bool:
    """Whether this refusal says that one stands in no project, and none was named."""
    is_named = bool(project or context.settings.agent_mail_project)
    is_unknown = code_of(refused) == NotFound.code and refused.data.get("parameter") == "project_key"
    return is_unknown and not is_named


def projects_of(gateway: Gateway) -> list[Answer]:
    """Those that are not archived: the newest 1,000, oldest first. Where there are more it is said, on stderr, that the
    older ones were left out.
    """
    projects: deque[Answer] = deque(maxlen=_MAX_PROJECTS)
    seen = after = 0
    while page := gateway.read(list_uri("projects", limit=_PAGE, after_id=after or None)):
        projects += page
        seen += len(page)
        before, after = after, page[-1]["id"]
        if after <= before:
            raise ValueError("projects that do not come in the order of their ids")
    if left_out := seen - len(projects):
        sys.stderr.write(
            visible(f"Notice: {left_out} older projects were left out; --project names one, am projects list all.\n")
        )
    return list(projects)


def search_everywhere(gateway: Gateway, asked: Answer) -> Answer:
    """What each project finds, each message with its `project`: the first of each before the second of any, or by time
    where that was asked for.
    """
    found: list[tuple[int, Answer]] = []
    for project in projects_of(gateway):
        key = project["human_key"]
        answer = gateway.call("search_messages", {**asked, "project_key": key})
        found += [(rank, {**message, "project": key}) for rank, message in enumerate(answer["result"])]
    order = asked["order"]
    found.sort(key=lambda one: (str(one[1]["created_ts"]), int(one[1]["id"])), reverse=order != "oldest")
    if order == "relevance":
        found.sort(key=lambda one: one[0])
    return {"result": [message for _, message in found[: asked["limit"]]]}


def held_in(gateway: Gateway, project: str, agent: str | None, direction: str) -> list[Answer]:
    """What waits for consent in the project, of one agent or of every one."""
    names = agents_of(gateway, project) if agent is None else [agent]
    asked = {"project_key": project, "direction": direction}
    return [
        message for name in names for message in gateway.call("held_mail", {**asked, "agent_name": name})["messages"]
    ]


def held_everywhere(gateway: Gateway, agent: str | None, direction: str) -> list[Answer]:
    """The same of all projects, each message with its `project`, oldest first. Raises NotFound for an agent that none
    of them has.
    """
    found: list[Answer] = []
    unknown: AgentMailError | None = None
    is_known = False
    for project in projects_of(gateway):
        key = project["human_key"]
        try:
            found += [{**message, "project": key} for message in held_in(gateway, key, agent, direction)]
            is_known = True
        except AgentMailError as missing:
            if agent is None or code_of(missing) != NotFound.code:
                raise
            unknown = missing
    if unknown is not None and not is_known:
        raise unknown
    return sorted(found, key=lambda message: (str(message["created_ts"]), int(message["id"])))


def find_thread(gateway: Gateway, thread_id: str, limit: int, refused: AgentMailError) -> Answer:
    """The thread of the one project that has it. Raises InvalidInput where several do, `refused` where none."""
    found: list[Answer] = []
    for project in projects_of(gateway):
        try:
            key = project["human_key"]
            meant = thread_in(gateway, thread_id, key)
            found.append(gateway.read(resource_uri("thread", meant, project=key, include_bodies=True, limit=limit)))
        except AgentMailError as missing:
            if code_of(missing) != NotFound.code:
                raise
    if not found:
        raise refused
    if len(found) > 1:
        keys = [str(answer["project"]) for answer in found]
        raise InvalidInput(
            f"{len(keys)} projects have a thread {thread_id!r:.130}.",
            hint=f"Add --project with one of: {', '.join(keys[:10])}.",
            data={"projects": keys},
        )
    return found[0]


def addressed_project(names: list[str]) -> str | None:
    """The project that all these addresses (`Name@project`) name; None where they do not agree, or one names none."""
    keys = {name.partition("@")[2].strip() for name in names}
    return (keys.pop() or None) if len(keys) == 1 else None
