"""Who may read what of a project. Decided here alone, for every tool, resource, completion and door of the server.

docs/reference/who-reads-what.md shows what follows; a test reads everything there is as everybody, and compares.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from mcp_agent_mail.core.errors import AgentMailError, PermissionDenied
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind, find_unproven, require_proof
from mcp_agent_mail.domain.projects import Project

READING_MAIL = "Reading mail"
"""What most readers do, as a refusal names it."""


class Readership(StrEnum):
    """What is kept of a project, by who may read it.

    `directory`: that it exists, and its agents with their profiles and presence: whoever comes must find them.
    `work`: what its agents do, each other's to know: mail that was delivered, summaries and commits of it, leases,
    windows by name, calls, counts of open mail. `own`: what one agent, or the parties to a message, have for
    themselves: blind copies and who got them, held and private mail, window ids, the count of all that is unread.
    """

    DIRECTORY = "directory"
    WORK = "work"
    OWN = "own"


class ForeignProject(PermissionDenied):
    """The token given proves an agent of another project."""


class SomebodyElses(PermissionDenied):
    """The record is one agent's own, or the parties' to a message, and the caller is proven to be none of them."""


def refusal(
    caller: Caller, project: Project, act: str, record: Readership, owners: Collection[AgentId] = ()
) -> AgentMailError | None:
    """Why `caller` may not read this record of `project`; None when it may. `owners` are those whose own it is.

    `act` is what the caller does, as the refusal names it.

    Nobody is an owner by its word: an inbox is opened by acting as its agent (`domain.identity.caller.require_to_act`).
    """
    if caller.is_operator or record is Readership.DIRECTORY:
        return None
    if caller.agent_id is not None and caller.agent_id in owners:
        return None
    if unproven := find_unproven(caller, act):
        return unproven
    if not _is_at_home(caller, project):
        return ForeignProject(
            f"{caller.agent_name} belongs to another project than {project.human_key}.",
            hint="Read one message you take part in with resource://message/{id}, or your own project's mail.",
            data={"project": project.human_key},
        )
    if record is Readership.OWN:
        return SomebodyElses("This is for those alone whose it is.", hint="Send the token of the agent whose it is.")
    return None


def may_read(caller: Caller, project: Project, record: Readership, owners: Collection[AgentId] = ()) -> bool:
    return refusal(caller, project, READING_MAIL, record, owners) is None


def require_to_read(
    caller: Caller, project: Project, act: str, record: Readership = Readership.WORK, owners: Collection[AgentId] = ()
) -> None:
    refused = refusal(caller, project, act, record, owners)
    if refused is not None:
        raise refused


def require_reader(caller: Caller, act: str) -> None:
    """The part of the decision that needs no project, before one is looked for: may `caller` read any work at all?

    Who may not learns nothing by it of what there is: messages, threads, products.
    """
    require_proof(caller, act)


def may_count_all_mail(caller: Caller) -> bool:
    """Whether `caller` learns how far the numbers of the whole store are: they rise with all mail, blind copies and
    other projects' mail too, so that nobody's word is enough.
    """
    return caller.is_verified


def _is_at_home(caller: Caller, project: Project) -> bool:
    """Is it the caller's project, or linked to it? Who is not proven to belong elsewhere is at home anywhere."""
    is_elsewhere = caller.kind is CallerKind.AGENT and caller.project_id != project.id
    return not is_elsewhere or project.id in caller.linked_projects
