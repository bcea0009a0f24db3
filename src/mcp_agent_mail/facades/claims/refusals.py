"""Refusals in the words of this profile, where its users look for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.identity.names import NameTaken, UnknownAgent, did_you_mean
from mcp_agent_mail.domain.projects import UnfitPath


class SenderNotRegistered(UnknownAgent):
    """Mail was to be sent by an agent that the project does not have."""


@contextmanager
def sent_by(from_agent: str) -> Iterator[None]:
    """Around a send or a reply, whose recipients are refused by another error: what is unknown here is the sender."""
    try:
        yield
    except UnknownAgent as unknown:
        likely = did_you_mean(unknown.data.get("nearest", []))
        raise SenderNotRegistered(
            f"from_agent not registered: {from_agent.strip():.100}",
            hint=f"{likely}Create the agent first with create_agent, and send by the name that it answers with; or "
            "check that project_key is the sender's project.",
            data={**unknown.data, "parameter": "from_agent"},
        ) from unknown


@contextmanager
def created() -> Iterator[None]:
    """Around the creation of an agent: it is given `project_key`, and never comes back as somebody."""
    try:
        yield
    except UnfitPath as unfit:
        raise _about(unfit, "project_key", unfit.hint) from unfit
    except NameTaken as taken:
        raise _about(taken, "name_hint", "Leave name_hint out to be given a free name.") from taken


def _about(error: AgentMailError, parameter: str, hint: str) -> AgentMailError:
    return error.reworded(hint=hint, data={**error.data, "parameter": parameter})
