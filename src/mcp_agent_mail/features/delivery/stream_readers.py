"""Who reads a stream of resources, when it is opened and for as long as it is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.core.ids import JOIN_CODE_PREFIX, AgentId
from mcp_agent_mail.core.tools import Credentials, call_as
from mcp_agent_mail.domain.identity.caller import Caller, require_proof
from mcp_agent_mail.domain.presence import is_gone
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View


class ReaderGone(PermissionDenied):
    """Whoever opened the stream is not the agent any more for which its place counts."""


class StreamReaders:
    """`identify` says who the current call is."""

    def __init__(self, store: Store, identify: Callable[[], Awaitable[Caller]]) -> None:
        self._store = store
        self._identify = identify

    async def find(self, credentials: Credentials, *, must_be_proven: bool = False) -> AgentId | None:
        """The agent that is proven to have these credentials, unless it is gone. Raises what a call with them raises;
        TokenMissing where nothing is proven and `must_be_proven` under `strict`.
        """
        caller: Caller = await call_as(lasting(credentials), self._identify, {})
        if must_be_proven:
            require_proof(caller, "Listening")
        if (agent_id := caller.agent_id) is None:
            return None
        return agent_id if await self._store.read(lambda view: _is_there(view, agent_id)) else None

    async def require(self, credentials: Credentials, holder: AgentId | None) -> None:
        """Raise what a call with them raises by now, and ReaderGone where they do not prove `holder` any more."""
        if await self.find(credentials) != holder and holder is not None:
            raise ReaderGone(
                "The agent that opened this stream is retired, or in an archived project.",
                hint="Register it again, or read as another agent.",
            )


def lasting(credentials: Credentials) -> Credentials:
    """Without the connection and the session that they came by, or named: what a session has got is no business of a
    subscription's, which must not keep it either.
    """
    return replace(credentials, session=None, forgotten_session=None, origin=None)


def may_end_untold(reader: Credentials, holder: AgentId | None) -> bool:
    """Whether more decides on it than the rights of `holder`: what came as proof and proves no agent that is there, or
    a join code beside.
    """
    if holder is None:
        return any((reader.bearer_token, reader.agent_token, reader.token_argument))
    return has_join_code(reader)


def has_join_code(credentials: Credentials) -> bool:
    """Whether a join code came, which ends by the clock, whomever else the credentials prove."""
    given = (credentials.bearer_token, credentials.agent_token, credentials.token_argument)
    return any(token.strip().startswith(JOIN_CODE_PREFIX) for token in given if token)


def _is_there(view: View, agent_id: AgentId) -> bool:
    agent = view.agents.find(agent_id)
    project = None if agent is None else view.projects.find(agent.project_id)
    return agent is not None and project is not None and not is_gone(agent, project)
