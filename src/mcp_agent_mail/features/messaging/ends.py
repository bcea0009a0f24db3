"""What has become of mail, for whoever looks at it: the same wherever a message is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, require_to_act
from mcp_agent_mail.domain.identity.readership import Readership, may_read
from mcp_agent_mail.domain.messages import Standing
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.lookup import AmbiguousName, find_agent
from mcp_agent_mail.store.transaction import View

Standings = Mapping[MessageId, Standing]
"""By message; one that holds as it was sent is absent."""


def load_standings(
    view: View, caller: Caller, project: Project, message_ids: Iterable[MessageId], reader: Agent | None
) -> Standings:
    """Of messages that the caller was found to see from `project`. `reader`: whose copies are its own; None for
    nobody's. Who does not read the project's mail is told of no message that is only there.
    """
    is_at_home = may_read(caller, project, Readership.WORK)
    return view.messages.standings(
        message_ids,
        reader=None if reader is None else reader.id,
        project=project.id if is_at_home else None,
    )


def find_reading_agent(view: View, caller: Caller, project: Project, said: str | None) -> Agent | None:
    """The agent of the project that a token proves the caller to be, else that its connection says. None where it may
    not act as that one.
    """
    name = caller.name_in(project.id) or said
    try:
        agent = None if name is None else find_agent(view, project.id, name)
        if agent is not None:
            require_to_act(caller, agent)
    except (AmbiguousName, PermissionDenied):
        return None
    return agent
